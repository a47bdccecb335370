"""Tables of the study of twins, as text for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pgsr.bench.pages import Row, head, line
from pgsr.bench.sae_levers import CAPS, TARGETS
from pgsr.bench.sae_paper import INTERVALS, LAYOUT, PRINTED, TITLES

Rows = Sequence[Row]

NAMES = {"acs": "ACS", "brfss": "BRFSS"}
METHODS = {"taylor": "Taylor D", "kish": "pooled D"}
_EXACT = ("areas", "records", "n_least", "n_median", "n_greatest")


def tables_report(rows: Rows, where: str) -> str:
    """The paper's four tables, one for each application, with the twin's figures beside the printed ones."""
    about = (
        f"Twin: median over {rows[0]['seeds']} seeds (least to greatest). A blank: not printed in the text "
        "that we have."
    )
    lines = [f"Computed {where}.", "", about]
    for table, labels in LAYOUT.items():
        for twin, methods in _cases(rows).items():
            lines += ["", f"**{table}, {NAMES[twin]}: {TITLES[table]}**", ""]
            lines += head(["", "paper", *(f"twin, {METHODS[method]}" for method in methods)])
            for key, words in labels.items():
                cells = [_cell(_find(rows, twin, method, key)) for method in methods]
                lines.append(line([words, _printed(twin, key), *cells]))
    return "\n".join(lines) + "\n"


def levers_report(rows: Rows) -> str:
    """Errors at equal rho, levers, one draw against the truth, and the audit."""
    cases = [(twin, method) for twin, methods in _cases(rows).items() for method in methods]
    titles = [f"{NAMES[twin]}, {METHODS[method]}" for twin, method in cases]

    def table(labels: Iterable[tuple[str, str]]) -> list[str]:
        return [
            *head(["", *titles]),
            *(line([words, *(_cell(_find(rows, *case, key)) for case in cases)]) for key, words in labels),
        ]

    equal = [
        ("rho", "rho of one joint draw"),
        ("predictor", "predictor, no privacy"),
        ("draw", "draw"),
        ("reshrunk", "draw, shrunk again"),
        ("noisy_direct", "noisy direct estimates, then the model"),
        ("draw_beats_direct", "share of areas where the draw is better than the direct estimate"),
    ]
    lowered = [
        (f"{key}_at_{target:g}", f"rho = {target:g}: {words}")
        for target in TARGETS
        for key, words in (
            ("kappa", "more noise in every area"),
            ("floor_any", "floor for any A"),
            ("floor_this", "floor for this A"),
            ("noisy", "noisy direct estimates, then the model"),
        )
    ]
    caps = [
        (f"cap_{cap:g}_{key}", f"cap {cap:g}: {words}")
        for cap in CAPS
        for key, words in (
            ("joint", "rho of a joint draw"),
            ("median", "rho of an area, median"),
            ("bias", "public bias bound, greatest"),
            ("bias_median", "public bias bound, median"),
        )
    ]
    weights = [
        ("joint", "as they are: rho of a joint draw"),
        ("rho_50", "as they are: rho of an area, median"),
        *caps,
        ("equal_joint_fixed", "equal weights, D fixed: rho of a joint draw"),
        ("equal_joint_recomputed", "equal weights, D recomputed: rho of a joint draw"),
        ("equal_factor_fixed", "equal weights, D fixed: factor, median"),
        ("equal_factor_recomputed", "equal weights, D recomputed: factor, median"),
    ]
    truth = [
        ("realised_predictor", "squared error of the predictor over that of direct estimates"),
        ("realised_draw", "squared error of the draw over that of direct estimates"),
        ("covered_naive", "share of draw +- 1.96 sigma that hold the truth"),
        ("covered_root2", "share of draw +- 1.96 sqrt(2) sigma that hold the truth"),
    ]
    lines = [
        "**Expected squared errors at equal rho**, over the mean sampling variance (direct estimates: 1):",
        "",
        *table(equal),
        "",
        "**The same at a smaller rho**, by four levers (a blank: the twin is below that rho in some seed):",
        "",
        *table(lowered),
        "",
        "**Weights**: caps in units of an area's mean weight; D is computed from the new weights:",
        "",
        *table(weights),
        "",
        "**One draw against the simulated truth:**",
        "",
        *table(truth),
    ]
    if any(row["figure"].startswith("audit") for row in rows):
        lines += ["", *_audit(rows)]
    return "\n".join(lines) + "\n"


def _audit(rows: Rows) -> list[str]:
    cases = [(twin, method) for twin, methods in _cases(rows).items() for method in methods]
    about = (
        "**Audit**: Renyi divergence of a joint draw before and after one record changes, over order times "
        "rho_k; for each area the worst record:"
    )
    lines = [
        about,
        "",
        *head(["estimated again", "order", "variances", "median area", "greatest finite", "share infinite"]),
    ]
    for twin, method in cases:
        for again, words in (("model", "A"), ("sampling", "D"), ("both", "A and D")):
            for order in ("2", "8"):
                names = ("median", "greatest_finite", "infinite_share")
                found = [_find(rows, twin, method, f"audit_{again}_{order}_{name}") for name in names]
                if found[0] is not None:
                    case = f"{NAMES[twin]}, {METHODS[method]}"
                    lines.append(line([words, order, case, *map(_cell, found)]))
    return lines


def _cases(rows: Rows) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for twin, method in dict.fromkeys((row["twin"], row["variances"]) for row in rows):
        found.setdefault(twin, []).append(method)
    return found


def _find(rows: Rows, twin: str, method: str, key: str) -> Row | None:
    for row in rows:
        if (row["twin"], row["variances"], row["figure"]) == (twin, method, key):
            return row
    return None


def _printed(twin: str, key: str) -> str:
    value = PRINTED[twin].get(key)
    if value is None:
        return ""
    between = INTERVALS[twin].get(key)
    interval = "" if between is None else f" (95 %: {between[0]:g} to {between[1]:g})"
    return (f"{value:,}" if isinstance(value, int) else f"{value:g}") + interval


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row["figure"] in _EXACT:
        return f"{row['median']:,.0f}"
    middle, least, greatest = (_short(row[name]) for name in ("median", "least", "greatest"))
    return middle if least == greatest else f"{middle} ({least} to {greatest})"


def _short(value: float | None) -> str:
    """Three digits; None is infinite."""
    if value is None:
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
