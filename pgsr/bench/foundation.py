"""The measurements of `make bench`: samplers, post-processing, stock solvers, Model 2, inequality, areas.

`python -m pgsr.bench.foundation --out DIR [--quick]` writes `DIR/foundation.json` and
`DIR/foundation.md` as results come; an interrupted run keeps the parts it has finished.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pgsr.bench import inequality_speed, sae_speed
from pgsr.bench.inequality_speed import inequality_rows
from pgsr.bench.machine import machine
from pgsr.bench.nation import nation_rows
from pgsr.bench.noise import noise_rates
from pgsr.bench.pages import Row, facts, head, line, log, today, write_text
from pgsr.bench.sae_speed import sae_rows
from pgsr.bench.scale import SCALES, peer_rows, scale_rows
from pgsr.bench.windows import window_rows

PEER_SCALES = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all parts and write the report."""
    parser = argparse.ArgumentParser(description="Measure samplers, post-processing at scale, stock solvers.")
    parser.add_argument("--out", type=Path, required=True, help="folder for foundation.json and .md")
    parser.add_argument("--quick", action="store_true", help="small sizes, one repeat: to see that it runs")
    parser.add_argument("--parts", default="", help="names of parts, separated by commas (default: all)")
    parser.add_argument("--taxi", type=Path, help="frozen taxi instance (.npz), to be solved as well")
    parser.add_argument("--peer-limit", type=float, default=120.0, help="seconds a stock solver may take")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"machine": machine(), "date": today()}
    parts: dict[str, Callable[[], list[Row]]] = {
        "noise": lambda: noise_rates(1_000_000 if quick else 20_000_000),
        "scale": lambda: scale_rows((0.001, 0.01) if quick else SCALES, 1 if quick else 3, log),
        "peers": lambda: peer_rows(
            PEER_SCALES[:2] if quick else PEER_SCALES, 1 if quick else 3, options.peer_limit, log
        ),
        "inequality": lambda: inequality_rows(quick, log),
        "sae": lambda: sae_rows(quick, log),
        "nation": lambda: nation_rows(quick, options.taxi, log),
        "windows": lambda: window_rows(quick, 2 * options.peer_limit, options.taxi, log),
    }
    wanted = [name for name in options.parts.split(",") if name]
    if unknown := sorted(set(wanted) - set(parts)):
        parser.error(f"unknown parts {', '.join(unknown)}: use {', '.join(parts)}")
    for name, part in parts.items():
        if wanted and name not in wanted:
            continue
        log(name)
        report[name] = part()
        write_text(options.out / "foundation.json", json.dumps(report, indent=1) + "\n")
        write_text(options.out / "foundation.md", markdown(report))
    log(f"written: {options.out / 'foundation.md'}")


_COLUMNS = {
    "inequality": (inequality_speed.COLUMNS, inequality_speed.CAPTION),
    "sae": (sae_speed.COLUMNS, sae_speed.CAPTION),
    "noise": (
        ("law", "parameter", "value", "draws_million_s", "opendp_million_s", "ratio_to_opendp"),
        (
            "Exact samplers, millions of draws a second on one core with the operating system's bits "
            "(median of 3), and OpenDP's sampler of the same law."
        ),
    ),
    "scale": (
        ("scale", "regions", "entries", "wall_s", "read_s", "solve_s", "write_s", "peak_gb", "certificate"),
        (
            "`us`, Model 1: a fresh process reads the instance, solves it with `proximity` (certificate "
            "included), writes the solution; medians, peak memory of the process."
        ),
    ),
    "peers": (
        ("peer", "task", "regions", "entries", "peer_s", "proximity_s", "ratio", "peak_gb"),
        (
            "Stock solvers on the same problems (bare matrices; seconds of hand-over and solve) against "
            "`proximity` (certificate included); a blank means not finished within the limit."
        ),
    ),
    "nation": (
        (
            "case",
            "entries",
            "highs",
            "limit_s",
            "seconds",
            "s_to_gap_0.01_percent",
            "objective",
            "proven_gap",
            "gap_percent",
            "exact",
            "trusted_gap",
            "peak_gb",
        ),
        (
            "Model 2 by `cumulative` at epsilon 1: seconds of the solve, seconds until the proven gap was "
            "below 0.01 %, objective, proven gap at the end (exact: in integers), and the gap that is left "
            "if HiGHS' word on small subtrees is taken."
        ),
    ),
    "windows": (
        (
            "tree",
            "model",
            "regions",
            "sizes",
            "seconds",
            "bare_s",
            "ratio",
            "objective",
            "bound",
            "certificate",
        ),
        (
            "`window` (relaxation, linear program, search where that is fractional) against HiGHS on the "
            "bare linear program of two units round the relaxation, which alone proves nothing where it "
            "is fractional; ratio: bare over `window`. A blank means not finished a minute after the limit, "
            "or not proven."
        ),
    ),
}


def markdown(report: dict[str, Any]) -> str:
    """The report as tables."""
    lines = [f"Measured {report['date']} by `make bench` on: {facts(report['machine'])}.", ""]
    for name, (columns, caption) in _COLUMNS.items():
        if name not in report:
            continue
        lines += [caption, "", *head([column.replace("_", " ") for column in columns])]
        lines += [line([_cell(row.get(column)) for column in columns]) for row in report[name]]
        lines.append("")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


if __name__ == "__main__":
    main()
