"""Pictures of small area releases, and the facts of their reviews against direct computation."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.privacy import PrivacyEvent
from pgsr.report import sae as module
from pgsr.report.sae_design import lever_facts, trimming_facts
from pgsr.report.sae_facts import area_facts, cost_facts, epsilon_rows, error_facts, stage_variances
from pgsr.report.sae_intervals import MOST_INTERVALS, draw_intervals
from pgsr.report.sae_words import delta_text
from pgsr.sae import AreaFrame, AreaGuarantees, NoisyDirectMechanism, PosteriorMechanism, ThreeStageMechanism
from pgsr.sae.accuracy import equal_rho_errors
from pgsr.sae.conversions import epsilon_exact
from pgsr.sae.guarantees import moving_rho

AREAS = [f"area {k}" for k in range(6)]
DELTA = np.array([0.05, 0.08, 0.10, 0.12, 0.15, 0.20])
D = np.array([0.04, 0.09, 0.16, 0.25, 0.36, 0.49])
FRAME = AreaFrame(
    areas=AREAS,
    sensitivity=DELTA,
    weight_total=np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
    kish=np.linspace(0.01, 0.02, 6),
)


def draws(**more) -> PosteriorMechanism:
    given = {"frame": FRAME, "variance": D, "model_variance": 0.1, "variance_source": "a census", **more}
    return PosteriorMechanism(**given)


def stages(**more) -> ThreeStageMechanism:
    given = {"rho_p": "1/1000", "rho_b": "1/20", "rho_a": "1/20", "rho_draw": "1/5", **more}
    return ThreeStageMechanism(frame=FRAME, clip=0.5, reference=0.01, clamp=(0.1, 0.3), **given)


def test_costs_are_those_of_the_guarantees() -> None:
    found = AreaGuarantees(posterior=draws().posterior, sensitivity=DELTA)
    cost = cost_facts(draws(draws=3), records=250)
    assert cost["rho"] == pytest.approx(3 * found.joint, rel=1e-14)
    assert [row["delta"] for row in cost["epsilons"]] == [1e-3, 1e-5, 1e-7]
    assert "250" in cost["epsilons"][0]["why"]
    for row in cost["epsilons"]:
        assert row["epsilon"] == pytest.approx(epsilon_exact(3 * found.joint, row["delta"]), rel=1e-14)
    areas = area_facts(draws(draws=3), FRAME)
    assert [row["rho"] for row in areas["areas"]] == pytest.approx(3 * found.own)
    assert [row["rho_alone"] for row in areas["areas"]] == pytest.approx(3 * found.area)
    assert areas["most_exposed"]["area"] == AREAS[found.joint_area]
    assert areas["whole"]["rho_marginals"] == found.marginals
    assert areas["whole"]["own_is_worst"] is True


def test_other_ways_convert_as_every_zcdp_release_does() -> None:
    cost = cost_facts(NoisyDirectMechanism(frame=FRAME, rho=Fraction(1, 4)))
    assert cost["rho"] == 0.25
    assert "zCDP" in cost["tight_by"]
    for row in cost["epsilons"]:
        # Never below what a Gaussian with this rho has, and not above the simple formula.
        assert epsilon_exact(0.25, row["delta"]) < row["epsilon"] <= row["epsilon_simple"]


def test_marginals_and_moving_records_pay_what_they_cost() -> None:
    marginal = area_facts(draws(kind="marginals"), FRAME)
    found = AreaGuarantees(posterior=draws().posterior, sensitivity=DELTA)
    assert [row["rho"] for row in marginal["areas"]] == pytest.approx(found.marginal_own)
    frame = AreaFrame(areas=AREAS, sensitivity=DELTA, moves=True)
    moving = draws(frame=frame)
    rho, pair = moving_rho(moving.posterior, DELTA)
    assert cost_facts(moving)["rho"] == pytest.approx(rho)
    whole = area_facts(moving, frame)["whole"]["moving"]
    assert whole == {"rho": pytest.approx(rho), "areas": [AREAS[place] for place in pair]}
    assert lever_facts(moving) == {}


@pytest.mark.parametrize("kind", ["joint", "marginals"])
def test_bounds_by_area_hold_for_records_that_move(kind) -> None:
    x = np.column_stack([np.ones(6), np.arange(6.0) ** 2])
    frame = AreaFrame(areas=AREAS, sensitivity=DELTA, design=x, moves=True)
    moving = draws(frame=frame, kind=kind, draws=2, limit=1000)
    m = np.array([moving.posterior.mean(row) for row in np.eye(6)]).T
    sigma = m * D  # Sigma = M D
    metric = np.linalg.inv(sigma) if kind == "joint" else np.diag(1 / np.diag(sigma))
    cost = np.zeros((6, 6))
    for k in range(6):
        for other in range(6):
            for sign in (1, -1):
                shift = m[:, k] * DELTA[k] + sign * m[:, other] * DELTA[other] * (other != k)
                cost[k, other] = max(cost[k, other], 2 * shift @ metric @ shift / 2)
    found = area_facts(moving, frame)
    rows, whole = found["areas"], found["whole"]
    bound = np.array([row["rho"] for row in rows])
    assert bound == pytest.approx(cost.max(axis=1))
    assert bound.max() == pytest.approx(cost.max()) == whole["moving"]["rho"]
    pair = {found["most_exposed"]["area"], found["most_exposed"]["other_area"]}
    k, other = np.unravel_index(cost.argmax(), cost.shape)
    assert pair == {AREAS[k], AREAS[other]}
    assert whole["rho_joint" if kind == "joint" else "rho_marginals"] == pytest.approx(cost.max() / 2)
    assert "own_is_worst" not in whole
    if kind == "joint":
        free = np.array([row["rho_free"] for row in rows])
        assert bool((bound <= free * (1 + 1e-9)).all())
        assert free.max() == pytest.approx(2 * whole["a_free"])


def test_a_delta_reads_the_same_way_everywhere() -> None:
    assert [delta_text(d) for d in (1e-4, 1e-5, 1e-12, 0.05)] == ["1e-4", "1e-5", "1e-12", "0.05"]


@pytest.mark.parametrize("gaussian", [True, False])
def test_epsilon_has_a_simple_and_a_tighter_curve_and_dashed_deltas(gaussian) -> None:
    (axis,) = module.draw_epsilon({"": {"": 0.25}}, marked=(1e-5, 1e-7), gaussian=gaussian).axes
    simple, tight, *marks = axis.get_lines()
    assert bool((tight.get_ydata() < simple.get_ydata()).all())
    rows, _ = epsilon_rows(0.25, PrivacyEvent.zcdp("1/4"), None, gaussian=gaussian)
    told = {row["delta"]: row["epsilon"] for row in rows}[1e-7]
    assert np.interp(-7, np.log10(tight.get_xdata()), tight.get_ydata()) == pytest.approx(told, rel=1e-3)
    assert [mark.get_xdata()[0] for mark in marks] == [1e-5, 1e-7]
    assert all(mark.get_linestyle() == "--" for mark in marks)


def test_the_record_that_pays_most_for_an_area_may_be_of_another() -> None:
    # One area decides the mean of all: the others are shrunk to it.
    variance = np.array([0.001, 5.0, 5.0])
    frame = AreaFrame(areas=["a", "b", "c"], sensitivity=[0.01, 0.01, 0.01])
    made = area_facts(draws(frame=frame, variance=variance, model_variance=0.001), frame)
    assert made["whole"]["own_is_worst"] is False
    assert [row["paid_by"] for row in made["areas"]] == ["a", "a", "a"]


@pytest.mark.parametrize("moves", [False, True])
def test_bounds_of_the_stages_hold_for_every_proportion(moves) -> None:
    kish = np.array([0.9, 0.3, 0.5, 0.2, 0.02, 0.01])  # the floor binds never, at times, and always
    frame = AreaFrame(areas=AREAS, sensitivity=DELTA, weight_total=FRAME.weight_total, kish=kish, moves=moves)
    made = ThreeStageMechanism(
        frame=frame,
        rho_p="1/1000",
        rho_b="1/20",
        rho_a="1/20",
        rho_draw="1/5",
        clip=0.5,
        reference=0.01,
        clamp=(0.1, 0.7),
        draws=2,
    )
    rows = area_facts(made, frame)["areas"]
    always = np.array([row["floor_always_binds"] for row in rows])
    may = np.array([row["floor_may_bind"] for row in rows])
    assert bool(always.any())
    assert bool((may & ~always).any())
    assert not bool(may.all())
    low, high = stage_variances(made)
    for p in np.linspace(0.1, 0.7, 25):
        d = p * (1 - p) * frame.kish
        assert bool((low <= d * (1 + 1e-12)).all() and (d <= high * (1 + 1e-12)).all())
        posterior = made._posterior(float(p), 0.01)
        own = 2 * DELTA**2 / (2 * posterior.variance)
        bound = np.array([row["rho_draw"] for row in rows])
        if moves:  # and another area's
            own = own + np.array([np.delete(own, k).max() for k in range(own.size)])
        assert bool((own <= bound * (1 + 1e-9)).all())
        floored = posterior.variance > d * (1 + 1e-12)
        assert bool((floored <= may).all())
        assert bool((floored >= always).all())
        assert own[always] == pytest.approx(bound[always])
        share = made.frame.weight_total * DELTA / made.frame.weight_total.sum()
        pairs = [share[k] + (np.delete(share, k).max() if moves else 0) for k in range(6)]
        proportion = np.array([row["rho_p"] for row in rows])
        assert proportion == pytest.approx(0.001 * (np.array(pairs) / max(pairs)) ** 2)
    total = float(made.event.rho)
    assert all(row["rho"] <= total * (1 + 1e-12) for row in rows)
    assert max(row["rho_p"] for row in rows) == pytest.approx(0.001)


def test_expected_errors_are_those_of_equal_rho() -> None:
    for count in (1, 4):
        _, errors = equal_rho_errors(draws().posterior, DELTA, count)
        found = error_facts(draws(draws=count))
        means = {name: float(column.mean()) for name, column in errors.items()}
        assert found["mean_mse"] == pytest.approx(means)
    assert error_facts(NoisyDirectMechanism(frame=FRAME, rho=1)) is None
    assert error_facts(None) is None
    assert (
        "draw"
        not in error_facts(NoisyDirectMechanism(frame=FRAME, rho=1, variance=D, model_variance=0.1))[
            "mean_mse"
        ]
    )
    assert "guess" in error_facts(stages())["assumes"]


def test_levers_reach_what_they_aim_at() -> None:
    floors = lever_facts(draws(draws=2), target=0.02)["floor"]
    assert len(floors) == 1
    assert floors[0]["rho_this_model"] == pytest.approx(0.02, rel=1e-6)
    assert floors[0]["raised_any_model"] >= floors[0]["raised_this_model"] > 0
    etas = lever_facts(draws())["robustness"]
    rhos = [row["rho_most"] for row in etas]
    assert rhos == sorted(rhos)
    budget = lever_facts(NoisyDirectMechanism(frame=FRAME, rho=1))["budget"]
    noise = [row["noise_sd_most"] * np.sqrt(row["rho"]) for row in budget]
    assert noise == pytest.approx([noise[0]] * len(noise))
    assert set(lever_facts(stages())) == {"floored"}
    assert lever_facts(draws(kind="marginals")) == {}


def test_trimming_says_whether_the_weights_are_those_of_the_sensitivities() -> None:
    weights = np.array([1.0, 1.0, 8.0] * 6)
    labels = np.repeat(AREAS, 3)
    frame = AreaFrame(areas=AREAS, sensitivity=np.full(6, 0.8))
    made = draws(frame=frame, limit=100)
    found = trimming_facts(made, weights, labels, bias=0.2)
    assert found["sensitivity_agrees"]
    assert found["sensitivity_most_after"] < 0.8
    assert found["bias_bound_most"] <= 0.2 * (1 + 1e-9)
    assert found["rho_after"] < found["rho_before"] == pytest.approx(cost_facts(made)["rho"])
    other = trimming_facts(draws(), weights, labels, bias=0.2)
    assert not other["sensitivity_agrees"]
    assert other["sensitivity_differs_in"] == AREAS
    with pytest.raises(InputError, match="no weights"):
        trimming_facts(made, weights[3:], labels[3:], bias=0.2)


ROWS = [
    {
        "twin": twin,
        "area": f"$a_{k}$",
        "n": 10 * (k + 1),
        "ratio": 1.5 + k,
        "shrinkage": 0.1 + 0.05 * k,
        "rho_exact": 0.01 * (k + 1),
        "rho_conservative": 0.1 * (k + 1),
        "rho_a_free": 0.02 * (k + 1),
        "direct": 0.1,
        "truth": 0.1 + 0.01 * k,
        "draw": 0.12 + 0.01 * k,
        "sigma": 0.01,
    }
    for twin, count in (("big", 12), ("small", 8))
    for k in range(count)
]


@pytest.mark.filterwarnings("error")
def test_the_study_is_drawn_the_same_again(tmp_path) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "sae_areas.jsonl").write_text(lines, encoding="utf-8")
    for folder in ("one", "two"):
        module.main(["--rows", str(tmp_path), "--out", str(tmp_path / folder)])
    first = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert set(first) == {
        f"sae-{name}.{kind}"
        for name in ("rho-by-n", "conservative", "epsilon-delta", "caterpillar")
        for kind in ("png", "svg")
    }
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}


def test_intervals_are_as_long_as_they_should_be() -> None:
    made = draw_intervals(["b", "a"], [0.5, 0.2], [0.1, 0.2], naive=[0.05, 0.1])
    wide, narrow = (lines.get_segments() for lines in made.axes[0].collections)
    # The areas in order of their estimates.
    assert np.array(wide)[:, :, 1] == pytest.approx(
        np.array([[0.2 - 0.392, 0.2 + 0.392], [0.304, 0.696]]), abs=1e-4
    )
    assert np.array(narrow)[1, :, 1] == pytest.approx([0.5 - 0.098, 0.5 + 0.098], abs=1e-4)
    assert [text.get_text() for text in made.axes[0].get_xticklabels()] == ["a", "b"]


def test_many_areas_are_thinned_out() -> None:
    count = 1000
    made = draw_intervals([str(k) for k in range(count)], np.arange(count), np.ones(count))
    (lines,) = made.axes[0].collections
    assert len(lines.get_segments()) == MOST_INTERVALS
    assert "240 of 1,000" in made.axes[0].get_xlabel()


def test_no_rows_are_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file"):
        module.main(["--rows", str(tmp_path), "--out", str(tmp_path)])
    with pytest.raises(InputError, match="no rows"):
        module.draw_shrinkage([])
