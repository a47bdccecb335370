"""The confidential fit: published vectors, dense likelihoods, and searches that must not get stuck."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae import confidential_fit
from pgsr.sae.checks import Float64
from pgsr.sae.fitting import METHODS, Profile, _grid, _Search, confidential_model_variance
from pgsr.sae.scan import QuickScores


def listed(text: str) -> Float64:
    return np.array(text.split(), dtype=np.float64)


# Expenditure on fresh milk (43 areas; Arora and Lahiri 1997): direct estimates, standard errors, major areas.
MILK_Y = listed(
    "1.099 1.075 1.105 .628 .753 .981 1.257 1.095 1.405 1.356 .615 1.46 1.338 .854 1.176 1.111 1.257 "
    "1.43 1.278 1.292 1.002 1.183 1.044 1.267 1.193 .791 .795 .759 .796 .565 .886 .952 .807 .582 .684 "
    ".787 .44 .759 .77 .8 .756 .865 .64"
)
MILK_SE = listed(
    ".163 .08 .083 .109 .119 .141 .202 .127 .168 .178 .1 .201 .148 .143 .149 .145 .135 .172 .137 .163 "
    ".125 .247 .14 .171 .106 .121 .121 .259 .106 .089 .225 .205 .119 .067 .106 .126 .092 .132 .1 .113 "
    ".083 .121 .129"
)
MILK_X = np.repeat([[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]], [7, 7, 11, 18], axis=0)

# Small area income and poverty estimates (51 areas): direct poverty rates and standard errors in thousandths.
SAIPE_Y = 0.001 * listed(
    "170 112 142 172 133 111 83 104 190 128 144 98 139 120 122 109 117 168 198 126 82 103 132 92 213 "
    "133 144 109 111 75 87 185 138 151 112 130 165 141 119 123 156 136 155 176 102 115 100 119 180 102 "
    "95"
)
SAIPE_SE = 0.001 * listed(
    "3 6 3 4 1 2 3 5 9 2 2 5 4 2 2 2 3 3 4 4 3 2 2 2 4 2 6 3 4 4 2 5 2 2 5 2 3 3 1 6 3 6 3 2 4 6 2 2 5 2 5"
)


def close(found: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize(
    ("method", "by_major_area", "intercept"),
    [
        ("reml", 0.0185503347627667, 0.0543112580200617),
        ("ml", 0.0155175087124194, 0.0526216485358484),
        ("fh", 0.0164202636541285, 0.0534573379965066),
        ("pr", 0.0125845879305879, 0.0518844617940199),
    ],
)
def test_model_variance_of_milk(method: str, by_major_area: float, intercept: float) -> None:
    close(_milk(method, MILK_X).model_variance.value, by_major_area, 1e-13)
    close(_milk(method).model_variance.value, intercept, 1e-13)


def _milk(method: str = "reml", design: Any = None) -> Any:
    return confidential_fit(MILK_Y, MILK_SE**2, design, method=method)


def test_the_milk_fit_by_major_area() -> None:
    fit = _milk("reml", MILK_X)
    close(fit.beta, [0.968188986974967, 0.132780305456736, 0.226946224520591, -0.241301039944632], 1e-13)
    close(
        fit.eblup[:5],
        listed("1.02197054415062 1.04760195144234 1.06795142630424 .76081656508852 .84615704377863"),
        1e-13,
    )
    close(
        fit.mse[:5],
        listed(".0134602564596456 .0053728797329431 .0057019947170533 .0085417520186454 .0095796097136578"),
        1e-12,
    )
    close(
        fit.posterior.sigma2[:5],
        listed(".0125918492390720 .0050748964581947 .0053762658939696 .0079757681430143 .0089322374020232"),
        1e-13,
    )
    close(fit.eblup.sum(), 40.7145783288438, 1e-13)
    close(fit.mse.sum(), 0.457280526729967, 1e-12)
    close(fit.posterior.sigma2.sum(), 0.427931108744816, 1e-13)
    assert fit.status == "inside"


def test_the_milk_fit_with_an_intercept_alone() -> None:
    fit = _milk()
    close(fit.beta, [0.948869735336691], 1e-13)
    close(fit.posterior.w_plus, 31.831993329288302, 1e-13)
    close(
        fit.posterior.sigma2[:5],
        listed(".0180252535629224 .0057442914622485 .0061351593231851 .0098034210709503 .0113052881662319"),
        1e-13,
    )


def test_model_variance_of_poverty_rates() -> None:
    fit = confidential_fit(SAIPE_Y, SAIPE_SE**2)
    close(fit.model_variance.value, 0.00100641280320459, 1e-13)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Float64, Float64, Float64]:
    """y, D and X; variances over many decades, where likelihoods have several maxima now and then."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(1, 3))
    m = draw(st.integers(p + 1, 10))
    d = np.exp(rng.normal(0, draw(st.floats(0, 2.5)), m))
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    return rng.normal(0, draw(st.floats(0.1, 5)), m), d, x


def dense_log_likelihood(y: Float64, d: Float64, x: Float64, a: float, *, restricted: bool) -> float:
    """By dense determinants: of y with beta profiled out, or of the m - p error contrasts."""
    v = np.diag(d + a)
    inverse = np.linalg.inv(v)
    beta = np.linalg.solve(x.T @ inverse @ x, x.T @ inverse @ y)
    rest = y - x @ beta
    total = len(y) * np.log(2 * np.pi) + np.linalg.slogdet(v)[1] + rest @ inverse @ rest
    if restricted:
        total += np.linalg.slogdet(x.T @ inverse @ x)[1] - x.shape[1] * np.log(2 * np.pi)
    return float(-total / 2)


@settings(deadline=None)
@given(problem=problems(), a=st.floats(0.01, 10), method=st.sampled_from(["reml", "ml"]))
def test_likelihoods_and_scores(problem: tuple[Float64, Float64, Float64], a: float, method: str) -> None:
    y, d, x = problem
    profile = Profile(y, d, x)
    dense = dense_log_likelihood(y, d, x, a, restricted=method == "reml")
    assert profile.log_likelihood(a, method) == pytest.approx(dense, rel=1e-9, abs=1e-9)
    step = 1e-5 * a
    slope = (profile.log_likelihood(a + step, method) - profile.log_likelihood(a - step, method)) / (2 * step)
    assert profile.score(a, method) == pytest.approx(slope, rel=1e-4, abs=1e-4 / a)


@settings(deadline=None, max_examples=200)
@given(problem=problems(), method=st.sampled_from(["reml", "ml"]))
def test_no_point_of_a_fine_grid_is_likelier(problem: tuple[Float64, Float64, Float64], method: str) -> None:
    y, d, x = problem
    profile = Profile(y, d, x)
    found = confidential_model_variance(profile, method)
    best = profile.log_likelihood(found.value, method)
    for a in (0.0, *np.logspace(-6, 4, 400)):
        assert profile.log_likelihood(float(a), method) <= best + 1e-9
    assert found.score <= 1e-9 * (1 + (1 / d).sum())
    assert found.at_zero == (found.value == 0)


def test_a_likelihood_with_two_maxima() -> None:
    """Fisher scoring from a small start stops at 0, the higher maximum is inside; and the other way round."""
    inside, at_zero = [], []
    for seed in range(250):
        rng = np.random.default_rng(seed)
        d = np.round(np.exp(rng.normal(0, 2.5, 6)), 3) + 1e-3
        profile = Profile(np.round(rng.normal(size=6) * 3, 2), d, np.ones((6, 1)))
        found = confidential_model_variance(profile, "ml")
        if found.maxima > 1:
            (at_zero if found.at_zero else inside).append(seed)
            fit = confidential_fit(profile.y, d, method="ml")
            assert fit.status.endswith("several maxima")
    assert inside
    assert at_zero


SEVERAL = (19, 26, 61, 71, 78, 87, 89, 91, 108, 133, 147, 159, 183, 191, 197, 217, 229, 234, 238, 1359)
"""Seeds of `hard` whose likelihoods have two or three maxima."""


def slow_maxima(profile: Profile, method: str, grid: Float64) -> list[float]:
    """Every sign change on the grid, each score by QR, each root by Brent's method."""
    from scipy.optimize import brentq

    scores = [profile.score(float(a), method) for a in grid]
    found = [] if scores[0] > 0 else [0.0]
    for left, right, before, after in zip(grid, grid[1:], scores, scores[1:], strict=False):
        if before > 0 >= after:
            ends = float(left), float(right)
            found.append(brentq(profile.score, *ends, args=(method,), xtol=1e-300, rtol=1e-15, maxiter=500))
    return found


def hard(seed: int) -> tuple[Float64, Float64, Float64]:
    """Variances over many decades, outliers, designs that are nearly dependent."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 4))
    m = int(rng.integers(p + 2, 12)) if seed % 5 else 400
    d = np.exp(rng.normal(0, rng.uniform(0.5, 7), m))
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    if p > 1 and seed % 3 == 0:
        x[:, 1] = 1 + 1e-6 * x[:, 1]
    y = rng.normal(size=m) * np.sqrt(d) * rng.uniform(0.3, 3) + rng.normal(size=m) * rng.uniform(0, 5)
    if seed % 4 == 0:
        y[int(rng.integers(m))] += 1e6
    return y, d, x


def test_the_quick_search_finds_every_maximum_of_the_slow_one() -> None:
    several = 0
    for seed in (*range(16), *SEVERAL):
        y, d, x = hard(seed)
        profile = Profile(y, d, x)
        rest, low = profile.least_squares()[1], float(d.min())
        high = float(rest @ rest) / (len(y) - x.shape[1]) + float(d.max())
        decades = np.log10((high + low) / low)
        grid = low * np.logspace(0, decades, int(16 * decades) + 2) - low
        grid[0], grid[-1] = 0.0, high
        for method in ("reml", "ml", "fh"):
            slow = slow_maxima(profile, method, grid)
            search = _Search(profile=profile, quick=QuickScores(d, *profile.least_squares()), method=method)
            quick = search.maxima(_grid(low, high))
            several += len(slow) > 1
            assert len(quick) == len(slow)
            np.testing.assert_allclose(quick, slow, rtol=1e-7, atol=1e-12 * float(d.min()))
            assert confidential_model_variance(profile, method).value in quick
    assert several >= len(SEVERAL)


@settings(deadline=None, max_examples=150)
@given(problem=problems(), method=st.sampled_from(["reml", "ml", "fh"]))
def test_signs_that_are_sure_are_those_of_the_factorisation(
    problem: tuple[Float64, Float64, Float64], method: str
) -> None:
    y, d, x = problem
    profile = Profile(y, d, x)
    points = np.r_[0.0, np.logspace(-6, 4, 40)]
    scores, sure = QuickScores(d, *profile.least_squares()).at(points, method)
    for a, score, certain in zip(points, scores, sure, strict=True):
        if certain:
            exact = profile.score(float(a), method)
            assert score == pytest.approx(exact, rel=1e-4)


def test_where_sums_cancel_the_factorisation_decides() -> None:
    """One area without precision, far off: least squares follows it, and the others' residuals are huge."""
    rng = np.random.default_rng(1)
    d = np.r_[np.exp(rng.normal(0, 1, 11)), 1e18]
    x = np.column_stack([np.ones(12), rng.normal(size=12)])
    y = np.r_[rng.normal(0, 2, 11), 1e10]
    profile = Profile(y, d, x)
    points = np.r_[0.0, np.logspace(-3, 2, 60)]
    scores, sure = QuickScores(d, *profile.least_squares()).at(points, "reml")
    exact = np.array([profile.score(float(a), "reml") for a in points])
    assert not sure.any()
    assert (np.sign(scores) != np.sign(exact)).any()
    found = confidential_model_variance(profile, "reml")
    alone = confidential_model_variance(Profile(y[:11], d[:11], x[:11]), "reml")
    assert found.value == pytest.approx(alone.value, rel=1e-6)


def test_one_sum_at_a_time_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    y, d, x = hard(5)
    profile = Profile(y, d, x)
    quick = QuickScores(d, *profile.least_squares())
    points = np.logspace(-3, 3, 7)
    whole = quick.at(points, "reml")[0]
    monkeypatch.setattr("pgsr.sae.scan._BLOCK", 1)
    np.testing.assert_allclose(quick.at(points, "reml")[0], whole, rtol=1e-9)


@settings(deadline=None)
@given(problem=problems(), method=st.sampled_from(METHODS))
def test_the_search_ends_where_the_score_is_negative(
    problem: tuple[Float64, Float64, Float64], method: str
) -> None:
    y, d, x = problem
    profile = Profile(y, d, x)
    rest = profile.least_squares()[1]
    high = rest @ rest / (len(y) - x.shape[1]) + d.max()
    if method != "pr":
        for factor in (1, 1.5, 10, 1e4):
            assert profile.score(high * factor, method) < 0
    assert confidential_model_variance(profile, method).value <= high


@settings(deadline=None)
@given(problem=problems())
def test_moment_equations_hold(problem: tuple[Float64, Float64, Float64]) -> None:
    y, d, x = problem
    m, p = x.shape
    profile = Profile(y, d, x)
    found = confidential_model_variance(profile, "fh")
    rest = profile.residuals(found.value)[3]
    assert rest @ rest == pytest.approx(m - p, rel=1e-9) or (found.at_zero and rest @ rest < m - p)
    moment = confidential_model_variance(profile, "pr")
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    squares = ((y - hat @ y) ** 2).sum() - (d * (1 - np.diag(hat))).sum()
    assert moment.value == pytest.approx(max(squares / (m - p), 0), rel=1e-7, abs=1e-9 * (1 + d.max()))


@settings(deadline=None)
@given(problem=problems(), method=st.sampled_from(METHODS), scale=st.sampled_from([1e-4, 0.5, 1e5]))
def test_units_and_shifts_along_the_design(
    problem: tuple[Float64, Float64, Float64], method: str, scale: float
) -> None:
    y, d, x = problem
    fit = confidential_fit(y, d, x, method=method)
    other = confidential_fit(scale * (y + x.sum(axis=1)), scale**2 * d, x, method=method)
    a = fit.model_variance.value
    if fit.model_variance.maxima == 1:
        tolerance = {"rel": 1e-6, "abs": 1e-8 * d.min()}
        assert other.model_variance.value / scale**2 == pytest.approx(a, **tolerance)
        np.testing.assert_allclose(other.eblup / scale, fit.eblup + x.sum(axis=1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_mean_squared_errors_by_dense_formulas(method: str) -> None:
    fit = _milk(method, MILK_X)
    a, d = fit.model_variance.value, MILK_SE**2
    v, b, m = d + a, d / (d + a), len(d)
    q = np.linalg.inv(MILK_X.T @ (MILK_X / v[:, None]))
    first, second = (1 / v).sum(), (1 / v**2).sum()
    spread, bias = {
        "reml": (2 / second, 0.0),
        "ml": (2 / second, -np.trace(q @ MILK_X.T @ (MILK_X / v[:, None] ** 2)) / second),
        "fh": (2 * m / first**2, 2 * (m * second - first**2) / first**3),
        "pr": (2 * (v**2).sum() / m**2, 0.0),
    }[method]
    g1, g2 = a * b, b**2 * np.einsum("ip,pq,iq->i", MILK_X, q, MILK_X)
    close(fit.mse, g1 + g2 + 2 * b**2 * spread / v - bias * b**2, 1e-12)
    close(fit.beta_se, np.sqrt(np.diag(q)), 1e-12)
    mean, mse = fit.predict([[1, 0, 1, 0], [1, 0, 0, 0]])
    close(mean, [fit.beta[0] + fit.beta[2], fit.beta[0]], 1e-12)
    close(mse, [a + q[0, 0] + q[2, 2] + 2 * q[0, 2] - bias, a + q[0, 0] - bias], 1e-12)
    rest = MILK_Y - MILK_X @ fit.beta
    close(fit.residuals, rest / np.sqrt(v - np.einsum("ip,pq,iq->i", MILK_X, q, MILK_X)), 1e-10)
    log_likelihood = dense_log_likelihood(MILK_Y, d, MILK_X, a, restricted=False)
    close(fit.log_likelihood, log_likelihood, 1e-12)
    close(fit.aic, 10 - 2 * log_likelihood, 1e-12)
    close(fit.bic, 5 * np.log(43) - 2 * log_likelihood, 1e-12)


def test_no_spread_beyond_sampling_gives_zero() -> None:
    x = np.column_stack([np.ones(5), np.arange(5.0)])
    for method in METHODS:
        fit = confidential_fit(2 + 3 * np.arange(5.0), np.ones(5), x, method=method)
        assert fit.model_variance.value == 0
        assert fit.status == "at zero"
        close(fit.eblup, 2 + 3 * np.arange(5.0), 1e-12)
        assert (fit.posterior.shrinkage == 1).all()


def test_a_given_model_variance_is_used_as_it_is() -> None:
    fit = confidential_fit([0.3, 0.45], [0.04, 0.09], model_variance=0.1)
    assert fit.status == fit.method == "known"
    close(fit.mse, fit.posterior.sigma2, 1e-15)
    assert fit.parameters == 1
    alone = confidential_fit([0.3], [0.04], model_variance=0.1)
    close(alone.eblup, [0.3], 1e-12)
    assert alone.residuals.tolist() == [0.0]


def test_nothing_is_shown() -> None:
    fit = _milk()
    assert repr(fit) == "ConfidentialFit(method='reml', m=43, p=1)"
    assert repr(fit.model_variance) == "ModelVariance()"
    assert repr(Profile(MILK_Y, MILK_SE, MILK_X)) == "Profile()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "mom"}, "reml, ml, fh, pr"),
        ({"y": [77.125, 1, 2]}, "3 rows instead of 4"),
        ({"y": [77.125, 1, np.nan, 2]}, "direct estimates, row 3"),
        ({"variance": [1, 1, 0, 1]}, "sampling variance, row 3"),
        ({"design": np.eye(4)}, "too few areas"),
        ({"y": [77.125], "variance": [1.0]}, "too few areas"),
        ({"design": np.ones((4, 2)), "names": ["income", "rent"]}, "income, rent"),
        ({"model_variance": -1.0}, "model variance"),
    ],
)
def test_unusable_inputs_are_refused(arguments: dict[str, Any], message: str) -> None:
    given_ = {"y": [77.125, 2, 3, 5], "variance": [1.0, 1, 1, 1], **arguments}
    with pytest.raises(InputError, match=message) as caught:
        confidential_fit(given_.pop("y"), given_.pop("variance"), **given_)
    assert "77" not in str(caught.value)
