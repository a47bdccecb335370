"""The studies of inequality indices: laws shared between releases, tidy rows, tables, speed."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, special, stats

import pgsr.bench.inequality_releases as releases
import pgsr.bench.inequality_samples as samples
import pgsr.bench.inequality_speed as speed
from pgsr.bench.inequality_laws import (
    INDEXES,
    NOISES,
    ConfidentialLaws,
    clipped,
    paper_upper_draws,
    quantiles,
    seeded,
    study_upper,
    upper_draws,
)
from pgsr.bench.inequality_tables import releases_report, samples_report
from pgsr.errors import InputError
from pgsr.inequality import mld_direct
from pgsr.inequality.domain import Domain
from pgsr.inequality.indices import mld, theil
from pgsr.inequality.plan import confidential_law
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper, UpperGrid

SMALL = np.sort(np.exp(np.random.default_rng(3).normal(10, 0.8, 300)))
TINY = releases.Case.of("tiny", "A few incomes", np.random.default_rng(4).pareto(2, 200) * 30_000)


def quiet(text):
    return None


@pytest.mark.parametrize("x", [SMALL, np.array([2.0, 3, 5, 8, 12])])
def test_shared_laws_are_those_of_a_single_release(x):
    """Of five incomes, smooth sensitivities are attained beyond rank 0."""
    domain = Domain(n=len(x), lower=1, upper=20 if len(x) == 5 else 1e6)
    for name in INDEXES:
        laws = ConfidentialLaws(name, x, domain)
        for noise in NOISES:
            for epsilon in ("1/4", "2"):
                query = IndexQuery(index=name, epsilon=Fraction(epsilon), noise=noise)
                assert laws.law(query) == confidential_law(query, domain, x)


def test_many_upper_bounds_are_those_drawn_one_by_one():
    private = study_upper()
    one, other = seeded("a"), seeded("a")
    found = upper_draws(private, SMALL, 20, one)
    assert found.tolist() == [private.draw(SMALL, other) for _ in range(20)]
    assert len(set(found.tolist())) > 3
    assert seeded("b").words(1) != seeded("a").words(1)


def test_the_shortcut_of_the_papers_bound_has_the_law_of_the_whole_loop():
    """Against crossings drawn point by point, on a short grid: probabilities by integration over tau."""
    grid = UpperGrid(first=Fraction(1), ratio=Fraction(2), count=7)
    private = PrivateUpper(grid=grid, epsilon=Fraction(1), epsilon_tau=Fraction(1, 2))
    x = np.array([0.5, 1.5, 3.0, 3.5, 7.0])
    counts = [1, 2, 4, 5, 5, 5]
    tau = 6 + stats.expon.ppf((np.arange(200_000) + 0.5) / 200_000, scale=2)
    left, expected = np.ones_like(tau), []
    for count in counts:
        p = np.exp(-(tau - count) / 2)
        expected.append((left * p).mean())
        left = left * (1 - p)
    expected.append(left.mean())
    runs = 20_000
    found = np.bincount(paper_upper_draws(private, x, runs, np.random.default_rng(1)), minlength=7)
    assert stats.chisquare(found, np.array(expected) * runs).pvalue > 0.001


def test_clipping_moves_the_largest_incomes_only():
    x = np.array([1.0, 5.0, 9.0])
    assert clipped(x, 5.0).tolist() == [1, 5, 5]
    assert clipped(x, 9.0) is x
    assert quantiles(np.arange(5.0), (0.25, 1)) == [1.0, 4.0]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    said = []
    rows = releases.compare(folder, TINY, runs=40, epsilons=("0.5", "2"), log=said.append)
    return folder, rows, said


def test_releases_are_recorded_and_a_lost_row_is_run_again_the_same(study):
    folder, rows, said = study
    kinds = [row["what"] for row in rows]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "bound": 9,
        "ladder": 2,
        "clipping": 2,
        "release": 2 * 3 * 2 * 4,
    }
    assert len(said) == len(rows)
    path = folder / "releases.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:40])
    again = []
    assert releases.compare(folder, TINY, runs=40, epsilons=("0.5", "2"), log=again.append) == rows
    assert len(again) == 1
    for row in rows:
        if row["what"] == "release":
            assert row["values"] == sorted(row["values"])
            assert row["errors"] == sorted(row["errors"])
            assert row["values"][0] >= 0
        if row["what"] == "bound":
            assert 0 <= row["clip_share"] <= 1
            assert row["clipped"][0] <= row["clipped"][-1] < row["n"]


def test_errors_are_distances_from_the_index_of_all_incomes(study):
    x = TINY.x
    key = ("tiny", "theil", "max", "2", "cauchy")
    names = ("data", "index", "upper", "epsilon", "noise")
    row = next(r for r in study[1] if r["what"] == "release" and tuple(r[name] for name in names) == key)
    laws = ConfidentialLaws("theil", x, Domain(n=len(x), lower=1, upper=x[-1]))
    query = IndexQuery(index="theil", epsilon=Fraction(2), noise="cauchy")
    values = laws.released(query, 40, seeded(*key))
    assert row["truth"] == theil(x)
    assert row["values"] == quantiles(values)
    assert row["errors"] == quantiles(np.abs(values - theil(x)))


def test_clipping_and_bounds_are_those_of_the_runs(study):
    x, private = TINY.x, study_upper()
    uppers = private.grid.values[upper_draws(private, x, 40, seeded("tiny", "upper"))]
    moved = np.array([mld(np.minimum(x, upper)) for upper in uppers])
    row = next(r for r in study[1] if r["what"] == "clipping" and r["index"] == "mld")
    assert row["errors"] == pytest.approx(np.quantile(np.abs(moved - mld(x)), (0.5, 0.95, 0.99)))
    uppers = private.grid.values[upper_draws(private, x, 40, seeded("U", "51/50"))]
    above = np.array([(x > upper).sum() for upper in uppers])
    row = next(r for r in study[1] if (r.get("algorithm"), r.get("ratio")) == ("U", "51/50"))
    assert row["clip_share"] == (above > 0).mean()
    assert row["clipped"] == pytest.approx(np.quantile(above, (0.05, 0.5, 0.95)))
    assert row["over_max"][0] == pytest.approx(np.median(uppers) / x[-1])


def test_ladders_rise_to_the_global_sensitivity(study):
    for row in study[1]:
        if row["what"] != "ladder":
            continue
        assert row["k"][0] == 0
        assert row["k"][-1] == row["n"] == 200
        assert row["entries"] == sorted(row["entries"])
        assert row["entries"][-1] == pytest.approx(row["global"], rel=1e-9)
        if row["index"] == "mld":
            domain = Domain(n=200, lower=1, upper=row["largest"])
            assert row["entries"][3] == pytest.approx(mld_direct.ladder(TINY.x, domain)(3, 4)[0], rel=1e-12)


def test_the_page_holds_the_rows(study):
    text = releases_report(study[1], TINY.title, "today")
    assert text.startswith("Measured today.\n\nA few incomes: n = 200, 40 runs.")
    row = next(
        row
        for row in study[1]
        if row["what"] == "release" and (row["noise"], row["upper"], row["epsilon"]) == ("ladder", "max", "2")
    )
    line = next(line for line in text.splitlines() if line.startswith("| ladder | max |"))
    assert float(line.split(" | ")[3].split(" / ")[0]) == pytest.approx(row["errors"][3], rel=0.06)
    assert text.count("| the paper's noise, even split |") == 3


def test_negative_incomes_are_refused():
    with pytest.raises(InputError, match="negative incomes"):
        releases.Case.of("bad", "", [1.0, -2.0])


# Absolute errors 50/95/99 % at epsilon 1 for 10,000 lognormal incomes (sigma 0.9, median 49,000, L = 1,
# U = 10^6), from an earlier program in floating point; mean log deviation, then Theil index.
QUANTILES = {
    ("mld", "paper"): (8.2e-3, 1.0e-1, 5.2e-1),
    ("mld", "cauchy"): (9.8e-4, 1.2e-2, 6.2e-2),
    ("mld", "ladder"): (1.4e-3, 6.1e-3, 9.4e-3),
    ("theil", "paper"): (1.4e-2, 1.8e-1, 8.9e-1),
    ("theil", "cauchy"): (1.7e-3, 2.1e-2, 1.05e-1),
    ("theil", "ladder"): (2.5e-3, 1.05e-2, 1.6e-2),
}


@pytest.mark.parametrize("name", INDEXES)
def test_errors_are_those_known(name):
    n, runs = 10_000, 6_000
    x = np.sort(np.clip(49_000 * np.exp(0.9 * np.random.default_rng(5).standard_normal(n)), 1, 1e6))
    laws = ConfidentialLaws(name, x, Domain(n=n, lower=1, upper=1e6))
    for noise in ("paper", "cauchy", "ladder"):
        beta = Fraction(1, 2) if noise == "cauchy" else None
        query = IndexQuery(index=name, epsilon=Fraction(1), noise=noise, beta=beta)
        errors = np.abs(laws.released(query, runs, seeded(name, noise)) - laws.value)
        found = np.quantile(errors, (0.5, 0.95, 0.99))
        known = QUANTILES[name, noise]
        # Clamped at 0, the paper's largest errors are no larger than the index itself on one side.
        depth = 3 if noise == "ladder" else 2
        np.testing.assert_allclose(found[:depth], known[:depth], rtol=0.15)


@pytest.mark.parametrize(
    "population", [samples.Population(), samples.Population(a=3, b=5, p=1.1, q=0.9, zeros=0.4)]
)
def test_the_population_has_the_indices_of_its_density(population):
    a, b, p, q, zeros = population.a, population.b, population.p, population.q, population.zeros

    def mean(function):
        """Over the beta variable w = z/(1 + z), z = (y/b)^a."""

        def inner(w):
            return function(1 + b * (w / (1 - w)) ** (1 / a)) * w ** (p - 1) * (1 - w) ** (q - 1)

        found = sum(integrate.quad(inner, *ends, limit=500)[0] for ends in ((0, 0.5), (0.5, 1)))
        return (1 - zeros) * found / special.beta(p, q) + zeros * function(1.0)

    average = mean(lambda x: x)
    exact = 1 + (1 - zeros) * b * special.beta(p + 1 / a, q - 1 / a) / special.beta(p, q)
    assert average == pytest.approx(exact, rel=1e-6)
    truth = population.truth()
    assert truth["mld"] == pytest.approx(math.log(exact) - mean(math.log), abs=1e-6)
    assert truth["theil"] == pytest.approx(
        mean(lambda x: x * math.log(x)) / exact - math.log(exact), abs=1e-5
    )
    x = population.sample(200_000, np.random.default_rng(6))
    assert (x == 1).mean() == pytest.approx(zeros, abs=0.002)
    above = special.betaincc(p, q, 0.5)  # y > b
    assert (x > b + 1).mean() == pytest.approx((1 - zeros) * above, abs=0.005)
    assert (np.diff(x) >= 0).all()


def test_samples_are_summed_up_and_drawn_once(tmp_path):
    population, said = samples.Population(), []
    settings = {"sizes": (50, 200), "samples": 4, "epsilons": ("1", "2")}
    rows = samples.compare(tmp_path, population, **settings, log=said.append)
    path = tmp_path / "samples.jsonl"
    assert len(path.read_text().splitlines()) == len(rows) == 8
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert samples.compare(tmp_path, population, **settings, log=said.append) == rows
    errors = samples.summary(rows, {"mld": 0.5, "theil": 0.25})
    assert len(errors) == 2 * 2 * (1 + 4 * 2)
    row = next(
        r for r in errors if (r["index"], r["n"], r["noise"], r["epsilon"]) == ("theil", 200, "ladder", "2")
    )
    mine = [abs(r["released"]["theil"][NOISES.index("ladder")][1] - 0.25) for r in rows if r["n"] == 200]
    assert row["error_50"] == pytest.approx(np.median(mine))
    alone = next(r for r in errors if (r["index"], r["n"], r["noise"]) == ("mld", 50, "none"))
    own = [abs(r["sampled"]["mld"] - 0.5) for r in rows if r["n"] == 50]
    assert alone["error_95"] == pytest.approx(np.quantile(own, 0.95))
    text = samples_report(rows, errors, {"mld": 0.5, "theil": 0.25}, "today")
    assert "| sampling alone |  |" in text
    assert text.count("| ladder | 2 |") == 2


def test_both_studies_write_their_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(releases, "cps", lambda: TINY)
    monkeypatch.setattr(releases, "EPSILONS", ("1",))
    monkeypatch.setattr(samples, "QUICK_SIZES", (50,))
    page = tmp_path / "page.md"
    parts = ("<!-- releases -->", "former", "<!-- end of releases -->", "<!-- samples -->")
    page.write_text("\n".join(["# Kept", *parts, "former", "<!-- end of samples -->", ""]))
    out = tmp_path / "out"
    given = ["--out", str(out), "--quick", "--docs", str(page)]
    releases.main([*given, "--runs", "5"])
    samples.main([*given, "--samples", "2"])
    text = page.read_text()
    assert text.startswith("# Kept")
    assert "former" not in text
    assert "5 runs." in text
    assert "2 samples of each size" in text
    errors = [json.loads(line) for line in (out / "sample_errors.jsonl").read_text().splitlines()]
    assert {row["n"] for row in errors} == {50}
    for module, option in ((releases, "--runs"), (samples, "--samples")):
        with pytest.raises(SystemExit):
            module.main(["--out", str(out), option, "0"])


def test_packaged_incomes_fit_the_study():
    case = releases.cps()
    assert case.x.min() == 1
    assert len(case.x) > 50_000


def test_speed_rows_have_the_columns_of_the_table(monkeypatch):
    monkeypatch.setattr(speed, "SIZES", (2_000,))
    rows = speed.inequality_rows(True, quiet)
    assert [row["index"] for row in rows] == list(INDEXES)
    assert set(speed.COLUMNS) <= set(rows[0])
    for row in rows:
        assert all(row[name] > 0 for name in speed.COLUMNS if name in row and name != "index")
    assert rows[0]["ratio"] == rows[0]["direct_s"] / rows[0]["smooth_s"]


def test_another_sensitivity_of_the_direct_method_stops_the_comparison(monkeypatch):
    wrong = mld_direct.smooth(SMALL, Domain(n=len(SMALL), lower=1, upper=1e6), 0.25)
    monkeypatch.setattr(mld_direct, "smooth", lambda *rest: wrong)
    monkeypatch.setattr(speed, "SIZES", (2_000,))
    with pytest.raises(RuntimeError, match="another sensitivity"):
        speed.inequality_rows(True, quiet)
