"""The posterior map against published vectors, dense Gaussian algebra and the precision form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae import NewAreas, Posterior
from pgsr.sae.checks import Float64

D = [0.04, 0.09, 0.16, 0.25, 0.36, 0.49]
Y = [0.30, 0.45, 0.25, 0.60, 0.10, 0.50]
SLOPE = np.column_stack([np.ones(6), [-1, 0, 1, 2, -2, 0.5]])


def listed(text: str) -> Float64:
    """Numbers as they are printed in the sources."""
    return np.array(text.split(), dtype=np.float64)


INTERCEPT = {
    "beta": listed("0.35912181268436116"),
    "mu": listed(
        "0.316891946481246 0.406952437587329 0.31715188472883765 0.42794415191740076 "
        "0.3027909838399348 0.3829994715514186"
    ),
    "var": listed(
        "0.032124050886553776 0.057133211889703564 0.07801926565123174 0.09363246089810398 "
        "0.1049156105269035 0.11306826075496737"
    ),
    "c": listed(
        "0.8031012721638444 0.6348134654411507 0.48762041032019837 0.3745298435924159 "
        "0.29143225146362084 0.2307515525611579"
    ),
    "row": listed(
        "0.8031012721638444 0.06544304264704327 0.04782376193437778 0.03552622315125207 "
        "0.02703082196290918 0.021074878140573256"
    ),
    "r": listed(
        "0.12594415371283782 0.18433087909971885 0.21930566091816991 0.24005155886921295 "
        "0.2528807590659897 0.2612171763573284"
    ),
}
WITH_SLOPE = {
    "beta": listed("0.3630505126833838 0.08337216700648628"),
    "mu": listed(
        "0.29419381305054215 0.4088134007447608 0.37087549519376617 0.5498534619259688 "
        "0.17537005287249574 0.4208829358160122"
    ),
    "var": listed(
        "0.03447813213430015 0.057149035905541615 0.09120704103148128 0.16153951723627036 "
        "0.17910173879546754 0.11962579445447785"
    ),
    "c": listed(
        "0.8619533033575038 0.6349892878393513 0.570044006446758 0.6461580689450814 "
        "0.49750482998740986 0.24413427439689359"
    ),
    "row": listed(
        "0.8619533033575038 0.06329854008742801 0.012999933704508143 -0.015047877400763103 "
        "0.06373957026845593 0.013056529982867318"
    ),
    "r": listed(
        "0.11557837579890344 0.1431498708228013 0.29554413771908367 0.3819131027132426 "
        "0.19094197938217117 0.26133942562816986"
    ),
}


def close(found: Any, expected: Any, tolerance: float = 1e-14) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def dense(d: Float64, a: float, x: Float64) -> tuple[Float64, Float64]:
    """M and Sigma by the definitions: beta by weighted least squares, then the mixture over beta."""
    v, b = d + a, d / (d + a)
    q = np.linalg.inv(x.T @ (x / v[:, None]))
    m = np.diag(1 - b) + (b[:, None] * x) @ q @ (x / v[:, None]).T
    return m, np.diag(a * b) + (b[:, None] * x) @ q @ (b[:, None] * x).T


@st.composite
def problems(draw: st.DrawFn) -> tuple[Float64, Float64, Float64]:
    """Variances D, a design X of full rank with up to three columns, and direct estimates y."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = draw(st.integers(1, 3))
    m = draw(st.integers(p, 12))
    d = np.exp(rng.normal(0, draw(st.floats(0, 2)), m))
    x = rng.normal(size=(m, p))
    if draw(st.booleans()):
        x[:, 0] = 1.0
    return d, x, rng.normal(size=m)


@pytest.mark.parametrize(("design", "expected"), [(None, INTERCEPT), (SLOPE, WITH_SLOPE)])
def test_the_toy_example(design: Any, expected: dict[str, Float64]) -> None:
    post = Posterior(variance=D, model_variance=0.1, design=design)
    close(post.w_plus, 2.2978140038606236)
    close(post.beta(Y), expected["beta"])
    close(post.mean(Y), expected["mu"])
    close(post.sigma2, expected["var"])
    close(post.gain, expected["c"])
    close(post.gains([0])[0], expected["row"])
    close(post.gains(0), post.gain_matrix()[:1])
    close(post.correlation2_sum, expected["r"])


@settings(deadline=None)
@given(problem=problems(), a=st.sampled_from([0.0, 1e-9, 0.01, 1.0, 1e6]))
def test_against_dense_algebra(problem: tuple[Float64, Float64, Float64], a: float) -> None:
    d, x, y = problem
    post = Posterior(variance=d, model_variance=a, design=x)
    m, sigma = dense(d, a, x)
    size = np.abs(sigma).max()
    assert np.abs(post.covariance_matrix() - sigma).max() <= 1e-7 * size
    close(post.gain_matrix(), m, 1e-7)
    close(post.mean(y), m @ y, 1e-7)
    close(post.gain_matrix(), post.covariance_matrix() / d, 1e-15)
    close(post.sigma2, np.diag(post.covariance_matrix()), 1e-13)
    close(post.q @ (x.T @ (x / (d + a)[:, None])), np.eye(x.shape[1]), 1e-6)
    assert (post.gain <= 1 + 1e-12).all()


@settings(deadline=None)
@given(problem=problems(), a=st.floats(1e-3, 1e3))
def test_the_precision_form(problem: tuple[Float64, Float64, Float64], a: float) -> None:
    d, x, y = problem
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    precision = np.diag(1 / d) + (np.eye(len(d)) - hat) / a
    post = Posterior(variance=d, model_variance=a, design=x)
    close(post.covariance_matrix() @ precision, np.eye(len(d)), 1e-6)
    # The normal equations, Sigma^-1 mu = D^-1 y, from which M = Sigma D^-1.
    close(precision @ post.mean(y), y / d, 1e-6)


def test_dense_algebra_at_the_size_of_the_first_application() -> None:
    rng = np.random.default_rng(6)
    m, p, a = 2462, 8, 0.0026
    d = np.exp(rng.normal(np.log(3e-4), 0.8, m))
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    post = Posterior(variance=d, model_variance=a, design=x)
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    sigma = np.linalg.inv(np.diag(1 / d) + (np.eye(m) - hat) / a)
    np.testing.assert_allclose(post.sigma2, np.diag(sigma), rtol=1e-12)
    np.testing.assert_allclose(post.gain, np.diag(sigma) / d, rtol=1e-12)
    assert np.abs(post.covariance_matrix() - sigma).max() <= 1e-12 * d.max()
    correlation2 = sigma**2 / np.outer(np.diag(sigma), np.diag(sigma))
    np.testing.assert_allclose(post.correlation2_sum, correlation2.sum(axis=1) - 1, atol=1e-12)
    y = rng.normal(size=m)
    np.testing.assert_allclose(post.mean(y), sigma @ (y / d), atol=1e-12 * np.abs(y).max())
    # The joint shift M e_k in the metric of Sigma is gain_k / D_k.
    gains = post.gain_matrix()[:, :20]
    exact = (gains * np.linalg.solve(sigma, gains)).sum(axis=0)
    np.testing.assert_allclose(post.gain[:20] / d[:20], exact, rtol=1e-12)


@settings(deadline=None)
@given(problem=problems(), a=st.floats(0, 10), more=st.floats(1e-3, 10))
def test_everything_grows_with_the_model_variance(
    problem: tuple[Float64, Float64, Float64], a: float, more: float
) -> None:
    d, x, _ = problem
    low = Posterior(variance=d, model_variance=a, design=x)
    high = Posterior(variance=d, model_variance=a + more, design=x)
    assert (high.gain >= low.gain - 1e-12).all()
    step = high.covariance_matrix() - low.covariance_matrix()
    assert np.linalg.eigvalsh(step).min() >= -1e-9 * d.max()


@settings(deadline=None)
@given(problem=problems())
def test_no_model_variance_is_the_limit(problem: tuple[Float64, Float64, Float64]) -> None:
    d, x, y = problem
    limit = Posterior(variance=d, model_variance=0, design=x)
    near = Posterior(variance=d, model_variance=1e-13, design=x)
    close(limit.covariance_matrix(), near.covariance_matrix(), 1e-6)
    assert np.linalg.matrix_rank(limit.covariance_matrix(), tol=1e-9) == x.shape[1]
    close(limit.mean(y), x @ limit.beta(y), 1e-9)
    close(limit.shrinkage, np.ones(len(d)))


@settings(deadline=None)
@given(problem=problems(), a=st.sampled_from([0.0, 0.05, 2.0]))
def test_closed_forms_of_an_intercept_agree_with_the_general_way(
    problem: tuple[Float64, Float64, Float64], a: float
) -> None:
    d, _, y = problem
    closed = Posterior(variance=d, model_variance=a)
    general = Posterior(variance=d, model_variance=a, design=np.full((len(d), 1), 3.0))
    assert closed.intercept_only
    assert not general.intercept_only
    close(closed.sigma2, general.sigma2)
    close(closed.mean(y), general.mean(y))
    close(closed.correlation2_sum, general.correlation2_sum, 1e-12)
    close(closed.beta(y), 3 * general.beta(y), 1e-13)
    b, w = closed.shrinkage, closed.w_plus
    if a > 0:
        close(closed.sigma2, a * b * (1 + b / w), 1e-13)
        close(closed.gain, (1 - b) * (1 + b / w), 1e-13)
        close(closed.q, [[a / w]], 1e-13)


@settings(deadline=None)
@given(problem=problems(), a=st.sampled_from([0.0, 0.3]))
def test_correlations_by_brute_force(problem: tuple[Float64, Float64, Float64], a: float) -> None:
    d, x, _ = problem
    post = Posterior(variance=d, model_variance=a, design=x)
    sigma = post.covariance_matrix()
    correlation2 = sigma**2 / np.outer(post.sigma2, post.sigma2)
    close(post.correlation2_sum, correlation2.sum(axis=1) - 1, 1e-9)


@settings(deadline=None)
@given(problem=problems(), a=st.sampled_from([0.0, 0.3]), seed=st.integers(0, 99))
def test_draws_have_the_posterior_law(problem: tuple[Float64, Float64, Float64], a: float, seed: int) -> None:
    """The draw is affine in the normals; its linear part L has L L' = Sigma, also jointly with new areas."""
    d, x, y = problem
    (m, p), rng = x.shape, np.random.default_rng(seed)
    post = Posterior(variance=d, model_variance=a, design=x)
    new = NewAreas(posterior=post, design=rng.normal(size=(2, p)))

    def everything(normals: Float64) -> Float64:
        z, w, z_new = normals[:m], normals[m : m + p], normals[m + p :]
        return np.concatenate([post.draw(y, z, w), new.draw(y, w, z_new), post.draw_beta(y, w)])

    centre = everything(np.zeros(m + p + 2))
    close(centre, np.concatenate([post.mean(y), new.mean(y), post.beta(y)]), 1e-12)
    linear = np.column_stack([everything(row) - centre for row in np.eye(m + p + 2)])
    law = linear @ linear.T
    scale = 1e-9 * (1 + np.abs(law).max())
    close(law[:m, :m], post.covariance_matrix(), scale)
    close(law[m : m + 2, m : m + 2], new.covariance(), scale)
    close(law[m : m + 2, :m], new.cross_covariance(), scale)
    close(law[m + 2 :, m + 2 :], post.q, scale)
    close(new.sigma2, np.diag(new.covariance()), 1e-12 * (1 + new.sigma2.max()))


@settings(deadline=None)
@given(problem=problems(), a=st.floats(0.01, 10), seed=st.integers(0, 99))
def test_a_new_area_is_one_with_a_worthless_direct_estimate(
    problem: tuple[Float64, Float64, Float64], a: float, seed: int
) -> None:
    d, x, y = problem
    row = np.random.default_rng(seed).normal(size=(1, x.shape[1]))
    new = NewAreas(posterior=Posterior(variance=d, model_variance=a, design=x), design=row)
    wide = Posterior(variance=np.append(d, 1e13), model_variance=a, design=np.vstack([x, row]))
    scale = 1e-6 * (1 + wide.sigma2.max())
    close(new.sigma2[0], wide.sigma2[-1], scale)
    close(new.mean(y)[0], wide.mean(np.append(y, 0.0))[-1], scale)
    close(new.gains()[0], wide.gains(len(d))[0, :-1], scale)


@settings(deadline=None, max_examples=50)
@given(
    exponents=st.lists(st.integers(-20, 20), min_size=3, max_size=7),
    a=st.sampled_from([0, Fraction(1, 2**20), 1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_variances_that_differ_by_many_orders_of_magnitude(
    exponents: list[int], a: Fraction, seed: int
) -> None:
    """Against exact fractions: each posterior variance is right relative to itself."""
    slope = np.random.default_rng(seed).integers(-20, 20, len(exponents)).tolist()
    assume(len(set(slope)) > 1)
    d = [Fraction(2) ** e for e in exponents]
    v = [one + a for one in d]
    s0, s1, s2 = (
        sum((Fraction(t) ** k / w for t, w in zip(slope, v, strict=True)), Fraction(0)) for k in range(3)
    )
    det = s0 * s2 - s1**2
    exact = [
        one * a / w + (one / w) ** 2 * (s2 - 2 * t * s1 + t * t * s0) / det
        for one, w, t in zip(d, v, slope, strict=True)
    ]
    x = np.column_stack([np.ones(len(d)), slope])
    post = Posterior(variance=[float(one) for one in d], model_variance=float(a), design=x)
    np.testing.assert_allclose(post.sigma2, [float(one) for one in exact], rtol=1e-12)


def test_an_area_that_the_model_fixes() -> None:
    """A = 0 and a row of zeros: theta is 0 for certain, and nothing divides by its variance."""
    post = Posterior(variance=[1.0, 2.0, 3.0], model_variance=0, design=[[1.0], [2.0], [0.0]])
    assert post.sigma2[2] == post.gain[2] == post.correlation2_sum[2] == 0
    close(post.correlation2_sum[:2], [1, 1])


def test_one_area_is_its_direct_estimate() -> None:
    post = Posterior(variance=[0.5], model_variance=0.25)
    close(post.mean([3.0]), [3.0])
    close(post.sigma2, [0.5])
    close(post.correlation2_sum, [0.0])


X = np.column_stack([np.ones(4), [1.0, 2, 3, 4], [2.0, 3, 4, 5]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variance": [1, 0, 1]}, "sampling variance, row 2"),
        ({"variance": [1, 2, -1]}, "sampling variance, row 3"),
        ({"variance": [1, np.nan]}, "sampling variance, row 2"),
        ({"variance": ["1", "2"]}, "sampling variance"),
        ({"variance": []}, "no areas"),
        ({"variance": [[1, 2]]}, "1-d"),
        ({"model_variance": -1e-9}, "model variance"),
        ({"model_variance": np.inf}, "model variance"),
        ({"model_variance": "1"}, "model variance"),
        ({"design": X}, "column 0, column 1, column 2"),
        ({"design": X[:, 1:] @ [[1, 2], [0, 0]], "names": ["age", "twice"]}, "design, age, twice"),
        (
            {"design": np.column_stack([X[:, 1], [1, 0, 0, 0], 2 * X[:, 1]])},
            "design, column 0, column 2: leave",
        ),
        ({"design": np.zeros((4, 1)), "names": ["nothing"]}, "zeros: design, nothing"),
        ({"design": np.ones((3, 1))}, "4 rows"),
        ({"design": np.ones(4)}, "4 rows"),
        ({"design": np.eye(4)[:, [0, 1, 2, 3, 0]]}, "5 columns for 4 areas"),
        ({"design": np.ones((4, 0))}, "0 columns"),
        ({"design": [[1], [np.nan], [1], [1]]}, "design, row 2"),
        ({"design": X[:, :2], "names": ["a"]}, "1 labels instead of 2"),
        ({"design": X[:, :2], "names": ["a", "a"]}, "'a' twice"),
    ],
)
def test_unusable_inputs_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Posterior(**{"variance": [1.0, 2, 3, 4], "model_variance": 1.0, **arguments})


def test_unfit_estimates_are_refused_without_showing_one() -> None:
    post = Posterior(variance=D, model_variance=0.1)
    for y in ([77.125] * 5, [77.125] * 5 + [np.nan], [77.125] * 5 + ["x"], None):
        for call in (post.mean, post.beta, NewAreas(posterior=post, design=None).mean):
            with pytest.raises(InputError) as caught:
                call(y)
            assert "77" not in str(caught.value)
    with pytest.raises(InputError, match="2 columns"):
        NewAreas(posterior=Posterior(variance=D, model_variance=1, design=SLOPE), design=[[1.0]])
    with pytest.raises(InputError, match="row 2"):
        NewAreas(posterior=post, design=[[1.0], [np.inf]])


def test_inputs_are_copied_and_cannot_be_changed() -> None:
    d = np.array(D)
    post = Posterior(variance=d, model_variance=0.1)
    d[0] = 9
    assert post.variance[0] == 0.04
    with pytest.raises(ValueError, match="read-only"):
        post.variance[0] = 1
    assert repr(post) == "Posterior(m=6, p=1)"
