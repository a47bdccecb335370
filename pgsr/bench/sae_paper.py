"""What the paper prints of its two applications, and how its tables are laid out here.

The text that these numbers were taken from has lost the bodies of Tables 1, 2, S1 and S2; they come from its
prose and captions. A figure that is not listed was not printed there. Keys are those of `sae_figures`.
"""

from __future__ import annotations

from collections.abc import Mapping

PRINTED: Mapping[str, Mapping[str, float]] = {
    "acs": {
        "areas": 2_462,
        "records": 3_190_000,
        "n_least": 368,
        "n_median": 1_217,
        "n_greatest": 3_911,
        "ratio_median": 6.92,
        "correlation_n_ratio": 0.44,
        "rho_50": 0.048,
        "rho_50_epsilon": 1.81,
        "rho_100": 1.51,
        "inverse_gain2_median": 1.24,
        "marginals": 1.51,
        "marginals_epsilon": 11.4,
        "sum": 195,
        "sum_epsilon": 307,
        "sum_over_marginals": 129,
        "r_worst": 8e-7,
        "r_greatest": 3.4e-5,
        "others_reach": 1.5e-3,
        "equal_factor_fixed": 48,
        "equal_rho_fixed": 0.0009,
        "slope_alone_n": 0.12,
        "slope_both_n": -0.67,
        "slope_both_ratio": 1.88,
        "correlation_rho_ratio": 0.50,
        "eta_-0.5_0": -36,
        "eta_0.5_100": 23,
        "eta_small_most": 6,
    },
    "brfss": {
        "areas": 52,
        "records": 24_197,
        "n_least": 41,
        "n_median": 120,
        "n_greatest": 5_226,
        "ratio_median": 8.24,
        "overall": 0.091,
        "rho_50": 0.188,
        "rho_50_epsilon": 3.13,
        "rho_100": 17.4,
        "worst_n": 42,
        "worst_ratio": 10.4,
        "conservative_50": 3.08,
        "inverse_gain2_median": 5.1,
        "marginals": 17.8,
        "marginals_epsilon": 46.4,
        "sum": 49.6,
        "sum_epsilon": 97,
        "sum_over_marginals": 2.8,
        "r_worst": 0.024,
        "r_greatest": 0.042,
        "others_reach": 0.57,
        "equal_factor_fixed": 68,
        "slope_both_n": -0.41,
        "slope_both_ratio": 1.09,
        "correlation_rho_ratio": 0.25,
        "eta_-0.5_0": -48,
        "eta_-0.5_50": -35,
        "eta_0.5_50": 23,
        "eta_0.5_100": 45,
        "eta_small_most": 9,
    },
}

INTERVALS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "acs": {
        "slope_alone_n": (-0.003, 0.23),
        "slope_both_n": (-0.78, -0.56),
        "slope_both_ratio": (1.76, 1.99),
    },
    "brfss": {"slope_both_n": (-0.72, -0.09), "slope_both_ratio": (0.005, 2.17)},
}
"""The printed 95 % intervals of slopes."""

_CENT = ("least", "5 %", "25 %", "median", "75 %", "95 %", "greatest")
_PERCENTS = (0, 5, 25, 50, 75, 95, 100)

LAYOUT: Mapping[str, Mapping[str, str]] = {
    "Table 1": {
        "areas": "areas",
        "left_out": "areas without a case, left out below",
        "records": "records",
        "n_least": "sample size, least",
        "n_median": "sample size, median",
        "n_greatest": "sample size, greatest",
        "ratio_median": "w_max / w_mean, median",
        "ratio_greatest": "w_max / w_mean, greatest",
        "effective_median": "Kish's effective sample size, median",
        "correlation_n_ratio": "correlation of log n and log(w_max / w_mean)",
        "overall": "overall prevalence",
        "model_variance": "model variance A, REML",
        "variance_median": "sampling variance D, median",
        "shrinkage_median": "shrinkage B, median",
        "inverse_gain2_median": "1 / c_kk^2, median",
    },
    "Table 2": {
        "rho_50": "rho of an area, median",
        "rho_50_epsilon": "its epsilon, equation (6)",
        "epsilon_exact_median": "its epsilon, exact",
        "rho_100": "rho of an area, greatest",
        "worst_n": "n of that area",
        "worst_ratio": "w_max / w_mean of that area",
        "conservative_50": "conservative bound, median",
        "joint": "one joint draw, exact",
        "joint_epsilon": "its epsilon, equation (6)",
        "joint_epsilon_exact": "its epsilon, exact",
        "marginals": "the paper's joint bound (independent draws)",
        "marginals_epsilon": "its epsilon, equation (6)",
        "a_free": "bound free of A, joint draw",
        "sum": "sum over areas",
        "sum_epsilon": "its epsilon, equation (6)",
        "sum_over_marginals": "sum over the paper's joint bound",
        "r_worst": "r_k of the worst area",
        "r_greatest": "r_k, greatest",
        "equal_factor_fixed": "equal weights, D fixed: factor, median",
        "equal_rho_fixed": "equal weights, D fixed: rho, median",
        "equal_factor_recomputed": "equal weights, D recomputed: factor, median",
        "equal_rho_recomputed": "equal weights, D recomputed: rho, median",
        "slope_alone_n": "slope of log rho on log n alone",
        "slope_both_n": "slope on log n, with the ratio",
        "slope_both_ratio": "slope on log(w_max / w_mean)",
        "correlation_rho_ratio": "correlation of log rho and log(w_max / w_mean)",
    },
    "Table S1": {
        **{f"rho_{q}": f"exact, {word}" for q, word in zip(_PERCENTS, _CENT, strict=True)},
        **{f"conservative_{q}": f"conservative, {word}" for q, word in zip(_PERCENTS, _CENT, strict=True)},
        "others_reach": "largest c_ik Delta_k / (c_ii Delta_i), k not i",
    },
    "Table S2": {
        **{
            f"eta_{eta:g}_{q}": f"eta = {eta:+g}, {word}"
            for eta in (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)
            for q, word in zip(_PERCENTS, _CENT, strict=True)
            if q in (0, 25, 50, 75, 100)
        },
        "eta_small_most": "eta = +-0.1, largest change either way",
    },
}
"""Figures of each table, in order, with their words."""

TITLES: Mapping[str, str] = {
    "Table 1": "design and model",
    "Table 2": "what releases cost, and what goes with it",
    "Table S1": "exact and conservative rho over areas",
    "Table S2": "change of rho in % if A is A (1 + eta)",
}
