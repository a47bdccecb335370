"""The instance library: frozen problems, honest noise, stated origins, and files of the reader's own."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files

import numpy as np
import pytest

from pgsr.bench.library import entry, expand, fixed, models, names, open_case
from pgsr.bench.library_entries import ENTRIES, top_levels
from pgsr.bench.library_noise import NOISES, noisy_table, rounded_laplace
from pgsr.bench.methods_cases import noisy_problem
from pgsr.bench.presets import PRESETS, generate
from pgsr.bench.trees import CENSUS_2020
from pgsr.datasets import describe, load_flights, load_korea_households
from pgsr.errors import InputError
from pgsr.models.files import write_instance, write_solution
from pgsr.models.fingerprint import fingerprint
from pgsr.models.problem import Problem
from pgsr.noise import SeededBits
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import get

# Results of years stand on these problems: a number here never changes. Those of generated counts also depend
# on numpy's Generator; if they alone fail, numpy has changed its streams.
FROZEN = """
korea hierarchical 1 geometric 0
    00c1efef5a4eab275b857caa45ddc62b5c7cc269b7d07351d2101c06fc9ab20d
korea cumulative 1/2 geometric 3
    3e19ca0a680346c99d0fc4356d23bb1d10b15b593630e320d422bc99437f5e87
korea hierarchical 1 laplace 0
    f6c26d2c85e1c4df3d053f18558025cf2fd1ecae3a17c5d36f301b9c86301201
korea cumulative 1 gaussian 0
    75ec43a2064e02e5a540c7d7bd740f9fbf774c19403cc3554e6c8ef1e89538c6
korea:levels=2 hierarchical 1 geometric 0
    4129063728edc0a73524858e369c1d21dbfb677d434f8d535f660841559c10d1
flights hierarchical 1 geometric 0
    244ba3c35b443be336de6d3564c86007dc82827b7626eeffbdde438fc208c967
flights cumulative 1/10 geometric 1
    5848eca2806732559d6de546f771062d936b0e22711a76a00724ffc499b84540
flights:levels=3 cumulative 1 laplace 2
    1aa4b48abf4c995eb5a279d56a96ce575fd57ed2e5a7e44f60dc44e108ba785c
us:scale=1e-05 hierarchical 1 geometric 0
    53f71e3073ccf975b3b97b954f6862b9404f3db67b0cce61d7b11d36eac1743e
us:scale=1e-05 cumulative 1 geometric 1
    83a04a28ee27bf79ab90079013bad5d995554bd14a7c4a4742b4028dbc7a23ae
taxi-like:scale=0.1 cumulative 1 geometric 0
    754343d58a253e58fab4e946a547d1c97c6ee3fd7a9ed3d60157e89956d14ab5
uniform:scale=0.03 hierarchical 1 geometric 0
    dd2fd24ad765c9652fdc1a13c750771477068ce88a65a2cc920c4cda2775e870
uniform:scale=0.03,sizes=4 cumulative 2 gaussian 5
    a086699aab2bcd887f5b2ff34aeb3ea12918c5bf59383dd37aa073c6e8fe344e
chain:scale=0.1 hierarchical 1 geometric 0
    20e989ac31ffc254c412b2b6d57f1dd44a59c92e1dcdab7307127dec942203b7
star:scale=0.01 hierarchical 1 geometric 0
    6116c804719d358490b4157815fb2c7eae257e40ed62fd434190a637dc342510
sparse:scale=0.05 cumulative 1 geometric 0
    2400b9aeaf74467426140da70775616bbd5745b769b3f967e96c8a470b660751
huge hierarchical 1 geometric 0
    bc12b38c3eaccb30401935b5629bc7ed1f596140eaf6f1c97d4ad1e6ab6d3ed3
deep cumulative 4 geometric 1
    2dbb78689a70ef6dc08df9b3a9f4b698c465895d437a91ee23486b3619f3d270
ties:scale=0.03 hierarchical - - -
    bd7072f7fdb3ae65df3cf11f1e1da6e118ae72070a8695b6fdcda4d5cab22789
fractional cumulative - - -
    93fc7f8b9f0261a490dcb9506c862e11ab3e0495e95987ae34597f1d461bd6ff
fractional:copies=4 cumulative - - -
    8dba3ba41f85b118ebe92f821e98f562b8c4e0a966861d8035de5517e6f83b45
window-trap cumulative - - -
    cb05be907cb1d4928cf150ad51c27ca1e6446999d9aeaaebb493f11a3eb03036
vectors:number=1 hierarchical - - -
    8401c9a6b42e5d8097a532c8d5953d1a8dab6ddd38c8ff28e167b5f8f759d8ce
vectors:number=30 cumulative - - -
    f49f99aa6622c7ae3c7b60930a28ece59c5edb95e5e4e3c6f18584da596b736b
"""


def frozen():
    """Arguments of `open_case`, and the fingerprint."""
    lines = FROZEN.split("\n")[1:-1]
    for asked, fingerprinted in zip(lines[::2], lines[1::2], strict=True):
        name, model, epsilon, noise, seed = asked.split()
        options = {} if noise == "-" else {"epsilon": epsilon, "noise": noise, "seed": int(seed)}
        yield pytest.param(name, model, options, fingerprinted.strip(), id=asked)


@pytest.mark.parametrize(("name", "model", "options", "expected"), list(frozen()))
def test_problems_are_frozen(name, model, options, expected):
    assert open_case(name, model, **options).fingerprint == expected


def small(**changes) -> Problem:
    stated = {
        "parent": np.array([-1, 0, 0]),
        "target": np.array([[3, 4], [1, 1], [1, 4]]),
        "total": 6,
        "upper": np.array([[6, 6], [6, 6], [6, 6]]),
    }
    return Problem(**(stated | changes))


def test_the_fingerprint_is_that_of_the_documented_bytes():
    digest = hashlib.sha256(b"pgsr-problem/1\nhierarchical l2 total 6\n")
    digest.update(b"parent 3\n" + struct.pack("<3q", -1, 0, 0))
    digest.update(b"target 3 2\n" + struct.pack("<6q", 3, 4, 1, 1, 1, 4))
    digest.update(b"weights 3\n" + struct.pack("<3d", 1, 1, 1))
    digest.update(b"lower none\n")
    digest.update(b"upper 3 2\n" + struct.pack("<6q", *[6] * 6))
    assert fingerprint(small()) == digest.hexdigest()


def test_whatever_changes_the_problem_changes_its_fingerprint():
    others = [
        small(parent=np.array([-1, 0, 1])),
        small(target=np.array([[3, 4], [1, 1], [1, 5]])),
        small(target=np.array([[3, 4], [1, 4], [1, 1]])),
        small(total=7),
        small(weights=np.array([1.0, 1.0, 2.0])),
        small(cumulative=True),
        small(loss="l1"),
        small(upper=None),
        small(upper=None, lower=small().upper * 0),
    ]
    prints = {fingerprint(problem) for problem in [small(), *others]}
    assert len(prints) == len(others) + 1
    assert fingerprint(small().relaxed()) == fingerprint(small())


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_entries_say_what_they_are(name):
    found = entry(name)
    if name == "us":
        assert (found.levels, found.regions, found.sizes) == (len(CENSUS_2020), sum(CENSUS_2020), 7)
    elif name != "vectors":
        case = open_case(name)
        tree = case.instance.hierarchy
        assert (found.levels, found.regions, found.sizes) == (
            tree.levels,
            tree.regions,
            len(case.instance.sizes),
        )
        assert (case.citation, case.licence, case.source) == (found.citation, found.licence, found.source)
    assert found.title
    assert found.citation
    assert found.licence


def test_data_are_cited_as_their_catalogue_says():
    for name, described in (("korea", "korea-households"), ("flights", "flights")):
        about = describe(described)
        assert (entry(name).citation, entry(name).licence) == (about.citation, about.licence)


def test_presets_are_those_of_generate():
    assert set(PRESETS) <= set(names())
    made = generate("uniform", model="cumulative", scale=0.03, sizes=4, epsilon=Fraction(1, 2), seed=3)
    case = open_case("uniform:scale=0.03,sizes=4", "cumulative", "1/2", seed=3)
    assert np.array_equal(case.instance.problem.target, made.noisy)
    assert np.array_equal(case.truth.counts, made.truth.counts)


def test_geometric_noise_on_data_is_that_of_the_comparison_of_methods():
    truth = load_korea_households()
    problem = noisy_problem(truth, cumulative=True, epsilon=Fraction(1, 2), seed=4)
    assert np.array_equal(
        open_case("korea", "cumulative", "1/2", seed=4).instance.problem.target, problem.target
    )


def test_all_noise_has_the_same_truth_below_it_and_differs():
    cases = [open_case("flights:levels=3", noise=noise, seed=2) for noise in NOISES]
    assert len({case.fingerprint for case in cases}) == len(NOISES)
    for case in cases:
        assert np.array_equal(case.truth.counts, cases[0].truth.counts)
    assert [case.rho for case in cases] == [None, None, Fraction(1, 2)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("cumulative", [False, True])
def test_the_noise_has_the_variance_it_should_have(noise, cumulative):
    """Levels 4, epsilon 1/2; S = 2 for counts and 1 for cumulative counts, of L1 and of squared L2."""
    truth = load_flights()
    clean = truth.cumulative() if cumulative else truth.counts
    drawn = noisy_table(truth, cumulative=cumulative, epsilon=Fraction(1, 2), noise=noise, seed=1) - clean
    scale = (1 if cumulative else 2) * 4 / 0.5
    expected = {
        "geometric": 1 / (2 * np.sinh(1 / (2 * scale)) ** 2),
        "laplace": 2 * scale**2 + 1 / 12,
        "gaussian": (1 if cumulative else 2) * 4 / (2 * (0.5**2 / 2)),
    }
    assert abs(drawn.mean()) < 5 * np.sqrt(expected[noise] / drawn.size)
    assert drawn.var() == pytest.approx(expected[noise], rel=0.05)


def test_rounded_laplace_has_its_law():
    """P(|K| >= k) = exp(-(k - 1/2) / b): a continuous Laplace variable beyond the half-way points."""
    scale, n = 1.5, 200_000
    drawn = rounded_laplace(scale, n, SeededBits(9))
    for k in range(1, 9):
        share = np.exp(-(k - 0.5) / scale)
        spread = 5 * np.sqrt(share * (1 - share) / n)
        assert abs((np.abs(drawn) >= k).mean() - share) < spread
        assert abs((drawn >= k).mean() - share / 2) < spread


def test_rounded_laplace_of_known_bits():
    class Bits:
        secure, description = False, "as given"

        def words(self, n):
            assert n == 4
            half = 1 << 63  # the share is (2^52 + 1/2) / 2^53, just above a half
            return np.array([half, half | 1, 0, 2**64 - 1], dtype=np.uint64)

    # -10 ln(1/2) = 6.93; the smallest share is 2^-54, and 540 ln 2 = 374.3; the largest is just below 1.
    assert rounded_laplace(10.0, 4, Bits()).tolist() == [7, -7, 374, 0]


def test_fixed_instances_have_no_noise_of_their_own():
    for name in ("ties:scale=0.03", "fractional", "window-trap", "vectors:number=4"):
        assert fixed(name)
        case, other = open_case(name), open_case(name, epsilon="1/7", noise="gaussian", seed=9)
        assert case.fingerprint == other.fingerprint
        assert (case.noise, case.epsilon, case.rho, case.seed) == (None,) * 4
    assert not fixed("korea")
    assert not fixed("us:scale=0.001")


def test_vectors_are_the_published_ones():
    text = files("pgsr.solvers.conformance").joinpath("vectors.json").read_text(encoding="utf-8")
    seen = {"hierarchical": 0, "cumulative": 0}
    for record in json.loads(text):
        model = record["model"]
        seen[model] += 1
        case = open_case(f"vectors:number={seen[model]}", model)
        assert case.instance.problem.target.tolist() == [region["noisy"] for region in record["regions"]]
        assert case.instance.problem.total == record["total"]
    assert set(seen.values()) == {len(expand("vectors"))}
    assert expand("korea") == ("korea",)


def test_copies_of_the_fractional_problem_stand_apart():
    """Each copy is the problem itself; nothing joins them, since totals are bounds and the root is free."""
    one = open_case("fractional").instance.problem
    problem = open_case("fractional:copies=3").instance.problem
    assert problem.total == 3 * one.total
    assert problem.region_weights[0] == 0
    for top in range(1, 4):
        rows = [top]
        for row in range(problem.regions):
            if problem.parent[row] in rows:
                rows.append(row)
        assert problem.target[rows].tolist() == one.target.tolist()
        assert [rows.index(problem.parent[row]) for row in rows[1:]] == one.parent[1:].tolist()
        assert problem.lower[top, -1] == problem.upper[top, -1] == one.total
        assert np.all(problem.region_weights[rows] == 1)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_linear_program_costs_half_a_unit_less_a_copy(copies):
    """By SciPy's HiGHS on the piecewise-linear form, and the integers by `highs` on the quadratic one."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    from pgsr.models.forms.piecewise import Windows, piecewise_form

    problem = open_case(f"fractional:copies={copies}").instance.problem
    form = piecewise_form(problem, Windows.whole(problem))
    for kinds, optimum in ((np.zeros(form.columns), 48.5), (form.integer, 49.0)):
        found = milp(
            form.linear,
            integrality=kinds,
            bounds=Bounds(form.lower, form.upper),
            constraints=LinearConstraint(form.matrix, form.row_lower, form.row_upper),
        )
        assert found.fun + form.constant == pytest.approx(optimum * copies, abs=1e-6)


def test_the_window_trap_is_the_conformance_case():
    from pgsr.solvers.conformance.cases import named

    case = open_case("window-trap")
    solution = get("window").solve(case.instance.problem, SolveOptions())
    assert (solution.objective, solution.certificate) == (36, True)
    stated = named("model2-window-trap")
    assert stated.optimum == 36
    kept = [row for row in range(7) if row != 3]  # its child 6 stands for it
    problem = case.instance.problem
    assert problem.target[kept].tolist() == stated.problem.target[[0, 1, 2, 4, 5, 3]].tolist()
    assert problem.region_weights.tolist() == [1, 1, 1, 0, 1, 1, 1]


def test_top_levels_are_the_data_cut_off():
    data = load_korea_households()
    top = top_levels(data, 2)
    assert top.hierarchy.level_names == data.hierarchy.level_names[:2]
    assert np.array_equal(top.counts, data.counts[:18])
    assert not top.check(data.total)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mars", {}, "unknown instance"),
        ("korea:colour=3", {}, "unknown parameter 'colour=3'"),
        ("korea:levels", {}, "unknown parameter"),
        ("korea:levels=x", {}, "not a number"),
        ("korea:levels=9", {}, "there are 4 levels"),
        ("us:scale=1,scale=2", {}, "unknown parameter 'scale=2'"),
        ("us:scale=-1", {}, "the scale is not above 0"),
        ("uniform:sizes=0", {}, "the number of sizes"),
        ("deep:levels=21", {}, "out of range"),
        ("fractional:copies=0", {}, "out of range"),
        ("fractional", {"model": "hierarchical"}, "cumulative model alone"),
        ("window-trap:copies=2", {}, "takes none"),
        ("vectors", {}, "30 vectors"),
        ("vectors:number=31", {}, "30 vectors"),
        ("korea", {"model": "other"}, "unknown model"),
        ("korea", {"noise": "white"}, "unknown noise"),
        ("korea", {"epsilon": 0}, "epsilon is not positive"),
        ("korea", {"epsilon": "many"}, "not a number"),
        ("korea", {"seed": -1}, "the seed is negative"),
        ("file:nothing.json", {}, "file not found"),
        ("file:", {}, "not the name of a file"),
    ],
)
def test_bad_names_and_options(name, options, message):
    with pytest.raises(InputError, match=message):
        open_case(name, **options)


COUNTS = """zone,size,count
north,1,4
north,3,2
south,2,5
"""


def test_true_counts_of_the_readers_own(tmp_path):
    (tmp_path / "my counts, all.csv").write_text(COUNTS)
    name = "file:my counts, all.csv"
    assert not fixed(name, tmp_path)
    assert models(name, tmp_path) == ("hierarchical", "cumulative")
    case = open_case(name, "cumulative", epsilon="1/2", seed=3, base=tmp_path)
    assert case.truth.counts.tolist() == [[4, 5, 2], [4, 0, 2], [0, 5, 0]]
    assert case.instance.problem.total == 11
    assert case.epsilon == Fraction(1, 2)
    again = open_case(name, "cumulative", epsilon=0.5, seed=3, base=tmp_path)
    assert again.fingerprint == case.fingerprint
    assert open_case(name, "cumulative", epsilon="1/2", seed=4, base=tmp_path).fingerprint != case.fingerprint


@pytest.mark.parametrize(("sizes", "root"), [(2, [4, 7]), (3, [4, 5, 2]), (5, [4, 5, 2, 0, 0])])
def test_true_counts_with_a_public_number_of_sizes(tmp_path, sizes, root):
    (tmp_path / "counts.csv").write_text(COUNTS)
    case = open_case(f"file:counts.csv,sizes={sizes}", base=tmp_path)
    assert case.truth.counts[0].tolist() == root
    assert case.truth.sizes.tolist() == list(range(1, sizes + 1))
    assert not case.truth.check(11)


@pytest.mark.parametrize("kind", ["noisy.json", "noisy"])
@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
def test_noisy_instances_of_the_readers_own(tmp_path, kind, model):
    made = open_case("uniform:scale=0.03", model, seed=1)
    write_instance(made.instance, tmp_path / kind)
    name = f"file:{kind}"
    assert fixed(name, tmp_path)
    assert models(name, tmp_path) == (model,)
    case = open_case(name, base=tmp_path)
    assert case.fingerprint == made.fingerprint
    assert (case.truth, case.noise, case.epsilon, case.seed) == (None, None, None, None)
    other = "cumulative" if model == "hierarchical" else "hierarchical"
    with pytest.raises(InputError, match=f"{model} model alone"):
        open_case(name, other, base=tmp_path)


@pytest.mark.parametrize("kind", ["true.json", "true.parquet", "true.csv"])
@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
def test_a_truth_of_the_readers_own(tmp_path, kind, model):
    made = open_case("uniform:scale=0.03", model, seed=1)
    write_instance(made.instance, tmp_path / "noisy.json")
    table = made.truth.cumulative() if model == "cumulative" else made.truth.counts
    if kind == "true.csv":
        leaves = made.instance.hierarchy.leaves
        rows = [
            f"{made.instance.hierarchy.ids[leaf]},{size},{made.truth.counts[leaf, place]}"
            for leaf in leaves
            for place, size in enumerate(made.instance.sizes)
        ]
        (tmp_path / kind).write_text("\n".join(["region,size,count", *rows]))
    else:
        write_solution(table, made.instance, tmp_path / kind)
    for mark in "=:":
        case = open_case(f"file:noisy.json,truth{mark}{kind}", base=tmp_path)
        assert np.array_equal(case.truth.counts, made.truth.counts)


def test_a_truth_that_is_none_is_refused(tmp_path):
    made = open_case("uniform:scale=0.03", seed=1)
    write_instance(made.instance, tmp_path / "noisy.json")
    wrong = made.truth.counts.copy()
    wrong[-1, 0] += 1
    write_solution(wrong, made.instance, tmp_path / "wrong.json")
    with pytest.raises(InputError, match="not the truth of this instance") as caught:
        open_case("file:noisy.json,truth=wrong.json", base=tmp_path)
    assert "wrong.json" in str(caught.value)
    other = replace(made.instance, problem=replace(made.instance.problem, total=made.truth.total + 1))
    write_instance(other, tmp_path / "other.json")
    write_solution(made.truth.counts, made.instance, tmp_path / "true.json")
    with pytest.raises(InputError, match="faithfulness"):
        open_case("file:other.json,truth=true.json", base=tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file:counts.csv,truth=counts.csv", "leave the truth out"),
        ("file:noisy.json,sizes=3", "leave sizes out"),
        ("file:counts.csv,sizes=0", "the number of sizes"),
        ("file:other.csv", "not levels, size, count"),
        ("file:noisy.json,truth=nothing.json", "nothing.json"),
    ],
)
def test_files_that_do_not_fit(tmp_path, name, message):
    (tmp_path / "counts.csv").write_text(COUNTS)
    (tmp_path / "other.csv").write_text("size,count\n1,2\n")
    write_instance(open_case("uniform:scale=0.001").instance, tmp_path / "noisy.json")
    with pytest.raises(InputError, match=message):
        open_case(name, base=tmp_path)
