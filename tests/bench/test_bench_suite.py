"""Suites: what is read, what is refused, and the runs that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pgsr.bench.suite import find_suite, load_suite, shipped
from pgsr.bench.tasks import expand
from pgsr.errors import InputError

HEAD = 'format = "pgsr-suite/1"\nname = "mine"\ntitle = "Mine"\n'
GROUP = """
[[group]]
family = "groupsizes"
instances = ["uniform:scale=0.008,sizes=3"]
methods = ["noisy"]
"""


def suite(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def tasks(tmp_path: Path, text: str):
    path = suite(tmp_path, text)
    return expand(load_suite(path), tmp_path, path.name)


def test_the_shipped_suites_are_those_of_the_documentation_and_all_can_be_expanded() -> None:
    assert set(shipped()) == {
        "smoke",
        "solvers",
        "exact-vs-relaxed",
        "mechanisms",
        "scale",
        "inequality",
        "sae",
    }
    for name, path in shipped().items():
        found = load_suite(path)
        assert found.name == name
        assert expand(found, path.parent)


def test_smoke_has_all_three_families() -> None:
    path = find_suite("smoke")
    assert {task.family for task in expand(load_suite(path), path.parent)} == {
        "groupsizes",
        "inequality",
        "sae",
    }


def test_a_group_is_the_product_of_its_lists(tmp_path) -> None:
    found = tasks(
        tmp_path,
        HEAD
        + "seeds = 3\n"
        + GROUP
        + 'models = ["hierarchical"]\nepsilons = ["0.5", 2]\nnoises = ["geometric", "gaussian"]\n',
    )
    assert len(found) == 3 * 2 * 2
    assert {task.epsilon for task in found} == {"1/2", "2"}
    assert [task.seed for task in found] == [1] * 4 + [2] * 4 + [3] * 4
    assert found[0].key == (
        "uniform:scale=0.008,sizes=3 | hierarchical | epsilon 1/2 | geometric | seed 1 | noisy | 60 s | 8 GB"
    )


def test_keys_hold_all_that_the_outcome_depends_on(tmp_path) -> None:
    base = tasks(tmp_path, HEAD + GROUP)
    assert len({task.key for task in base}) == len(base) == 2
    for change in (
        "time_limit_s = 5\n",
        "memory_limit_gb = 1.5\n",
        "seeds = [4]\n",
        'epsilons = ["3"]\n',
        'noises = ["laplace"]\n',
    ):
        other = tasks(tmp_path, HEAD + GROUP + change)
        assert not {task.key for task in other} & {task.key for task in base}, change
    other = tasks(tmp_path, HEAD + "threads = 2\n" + GROUP)
    assert not {task.key for task in other} & {task.key for task in base}


def test_instances_with_noise_of_their_own_are_run_once_for_the_models_that_they_have(tmp_path) -> None:
    found = tasks(tmp_path, HEAD + "seeds = 4\n" + GROUP.replace("uniform:scale=0.008,sizes=3", "fractional"))
    (task,) = found
    assert (task.model, task.epsilon, task.noise, task.seed) == ("cumulative", None, None, None)
    assert task.key == "fractional | cumulative | noisy | 60 s | 8 GB"
    assert len(tasks(tmp_path, HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "vectors"))) == 60


def test_a_star_is_every_solver_that_takes_the_model_and_is_no_heuristic(tmp_path) -> None:
    found = tasks(tmp_path, HEAD + GROUP.replace('"noisy"', '"*", "*:relaxed"'))
    one = {task.method for task in found if task.model == "hierarchical"}
    two = {task.method for task in found if task.model == "cumulative"}
    assert {"proximity", "highs", "dp", "proximity:relaxed"} <= one
    assert {"cumulative", "highs", "window", "splitting:relaxed"} <= two
    assert not {"cumulative", "topdown", "relax-round", "splitting", "dp:relaxed"} & one
    assert not {"proximity", "topdown", "kuo-hc"} & two


def test_a_changed_file_has_another_key(tmp_path) -> None:
    text = HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "file:counts.csv")
    file = tmp_path / "counts.csv"
    file.write_text("zone,size,count\na,1,3\nb,1,4\n", encoding="utf-8")
    before = {task.key for task in tasks(tmp_path, text)}
    assert before == {task.key for task in tasks(tmp_path, text)}
    file.write_text("zone,size,count\na,1,3\nb,1,5\n", encoding="utf-8")
    assert not before & {task.key for task in tasks(tmp_path, text)}


def test_methods_without_privacy_cost_nothing_and_are_run_once(tmp_path) -> None:
    found = tasks(
        tmp_path,
        HEAD + '[[group]]\nfamily = "sae"\ninstances = ["brfss-like"]\nmethods = ["direct", "draw"]\n'
        'rhos = ["draw", "1/10"]\n',
    )
    assert [(task.method, task.rho) for task in found] == [
        ("direct", None),
        ("draw", "draw"),
        ("draw", "1/10"),
    ]


SAE = '[[group]]\nfamily = "sae"\ninstances = ["brfss-like"]\nmethods = ["direct"]\n'
INEQUALITY = '[[group]]\nfamily = "inequality"\ninstances = ["cps-incomes"]\nmethods = ["ladder"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD, "key 'group' is missing"),
        (HEAD.replace("suite/1", "suite/2") + GROUP, "format"),
        (HEAD + "colour = 1\n" + GROUP, "unknown key 'colour'"),
        (HEAD + GROUP + "colour = 1\n", "unknown key 'group.1.colour'"),
        (HEAD + GROUP.replace('family = "groupsizes"\n', ""), "family' is missing"),
        (HEAD + GROUP.replace("groupsizes", "census"), "unknown family"),
        (HEAD + GROUP.replace('["noisy"]', '"noisy"'), "group.1.methods"),
        (HEAD + GROUP.replace('["noisy"]', "[]"), "the list is empty"),
        (HEAD + GROUP.replace('["noisy"]', '["noisy", "noisy"]'), "stands twice"),
        (HEAD + GROUP.replace('["noisy"]', '["nobody"]'), "unknown method 'nobody'"),
        (HEAD + GROUP.replace('["noisy"]', '["highs:best"]'), "unknown variant 'highs:best'"),
        (HEAD + GROUP.replace("uniform", "nowhere"), "unknown instance"),
        (
            HEAD + GROUP.replace('["noisy"]', '["proximty"]'),
            "mine.toml, group.1.methods: did you mean 'proximity'?",
        ),
        (HEAD + GROUP.replace('["noisy"]', '["proximty:relaxed"]'), "did you mean 'proximity'?"),
        (
            HEAD + GROUP + GROUP.replace("uniform", "unifrm"),
            "mine.toml, group.2.instances: did you mean",
        ),
        (HEAD + GROUP.replace("scale=0.008", "colour=3"), "mine.toml, group.1.instances, instance 'uniform"),
        (
            HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "file:gone.json"),
            "mine.toml, group.1.instances",
        ),
        (HEAD + GROUP + 'noises = ["gausian"]\n', "mine.toml, group.1.noises: did you mean 'gaussian'?"),
        (HEAD + GROUP.replace('["noisy"]', '["topdown:relaxed"]'), "'topdown' does not solve relaxations"),
        (HEAD + GROUP.replace('["noisy"]', '["noisy:rounded"]'), "'noisy' does not solve relaxations"),
        (HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "korea:levels=0"), "levels=0 is out of range"),
        (HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "korea:levels=5"), "give 1 to 4"),
        (HEAD + GROUP.replace("scale=0.008", "scale=0"), "scale=0 is out of range"),
        (HEAD + GROUP.replace("scale=0.008", "scale=nan"), "scale=nan is out of range"),
        (HEAD + GROUP.replace("sizes=3", "sizes=0"), "sizes=0 is out of range"),
        (HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "vectors:number=31"), "give 1 to 30"),
        (HEAD + GROUP.replace("scale=0.008", "colour=3"), "colour=3"),
        (HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "file:gone.json"), "gone.json"),
        (HEAD + GROUP + 'models = ["linear"]\n', "unknown model 'linear'"),
        (
            HEAD + GROUP.replace("uniform:scale=0.008,sizes=3", "fractional") + 'models = ["hierarchical"]\n',
            "not there for hierarchical",
        ),
        (HEAD + GROUP + 'noises = ["poisson"]\n', "unknown noise 'poisson'"),
        (HEAD + GROUP + 'epsilons = ["-1"]\n', "group.1.epsilons"),
        (HEAD + GROUP + 'epsilons = ["1/2", "0.5"]\n', "stands twice"),
        (HEAD + GROUP + 'epsilons = ["much"]\n', "group.1.epsilons"),
        (HEAD + "seeds = 0\n" + GROUP, "seeds"),
        (HEAD + "seeds = [1, 1]\n" + GROUP, "a seed stands twice"),
        (HEAD + "time_limit_s = 0\n" + GROUP, "time_limit_s"),
        (HEAD + "memory_limit_gb = inf\n" + GROUP, "memory_limit_gb"),
        (HEAD + "threads = 0\n" + GROUP, "threads"),
        (HEAD.replace("mine", "a/b") + GROUP, "name"),
        (HEAD + GROUP + GROUP, "is asked for twice"),
        ("format = ", "not TOML"),
        (HEAD + SAE.replace("brfss-like", "nowhere"), "unknown survey"),
        (HEAD + SAE.replace("brfss-like", "file:areas.csv"), "not read from files"),
        (HEAD + SAE.replace('["direct"]', '["guess"]'), "unknown method 'guess'"),
        (HEAD + SAE + 'rhos = ["none"]\n', "group.1.rhos"),
        (HEAD + INEQUALITY.replace("cps-incomes", "wages"), "unknown incomes"),
        (HEAD + INEQUALITY.replace("cps-incomes", "wages"), "mine.toml, group.1.instances"),
        (
            HEAD + INEQUALITY.replace('"ladder"', '"lader"'),
            "mine.toml, group.1.methods: did you mean 'ladder'?",
        ),
        (HEAD + INEQUALITY.replace("cps-incomes", "population:n=1"), "number of records"),
        (HEAD + INEQUALITY.replace("cps-incomes", "cps-incomes:upper=much"), "upper bound"),
        (HEAD + INEQUALITY + 'indexes = ["gini"]\n', "unknown index 'gini'"),
        (HEAD + INEQUALITY + "releases = 0\n", "releases"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(tmp_path, text, said) -> None:
    with pytest.raises(InputError) as caught:
        tasks(tmp_path, text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_suite_names_the_known_ones(tmp_path) -> None:
    with pytest.raises(InputError, match=r"exact-vs-relaxed.*smoke"):
        find_suite("everything")
    with pytest.raises(InputError, match="did you mean 'mechanisms'"):
        find_suite("mechanism")
    with pytest.raises(InputError, match="no such file"):
        load_suite(find_suite(str(tmp_path / "gone.toml")))
