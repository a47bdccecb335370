"""Two results, or two methods of one result, run by run on the same problems: paired tests over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgsr.bench.analysis.pairs import Pair, Paired, pair_methods, pair_results
from pgsr.bench.analysis.rowsets import (
    Rows,
    budget,
    columns_of,
    count,
    feasible,
    finished,
    grouped,
    input_noise,
    objective,
    ran,
    total,
)
from pgsr.bench.analysis.statistics import (
    bootstrap_interval,
    geometric_mean,
    holm,
    sign_flip,
    signed_rank,
    stratified_interval,
)
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row
from pgsr.errors import InputError

ALL = "all"
"""Stands for all instances in the line that sums a measure up."""
ALPHA = 0.05
"""Below, a p value counts as a finding. With n pairs that differ none is smaller than 2 / 2^n."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared: smaller is better. `value` of a run, None where it has none that counts."""

    name: str
    title: str
    value: Callable[[Row], float | None]
    factor: bool = True
    """Whether logarithms are tested where all values are positive; else plain differences."""


def _counts(row: Row) -> bool:
    """Whether it left what a method of its kind owes: exact ones and heuristics a feasible table."""
    owes = row["family"] == "groupsizes" and row["kind"] in ("exact", "heuristic", "relaxed")
    return ran(row) and (not owes or feasible(row))


def _measured(name: str) -> Callable[[Row], float | None]:
    return lambda row: total(row, name) if _counts(row) else None


def _seconds(row: Row) -> float | None:
    return total(row, "solve_s") if _counts(row) and finished(row) else None


def _objective(row: Row) -> float | None:
    return objective(row) if feasible(row) else None


def _broken(row: Row) -> float | None:
    return total(row, "broken_sums") if ran(row) else None


MEASURES = (
    Measure(name="solve_s", title="seconds of the solve", value=_seconds),
    Measure(name="peak_gb", title="memory in GB", value=_measured("peak_gb")),
    Measure(name="objective", title="objective", value=_objective, factor=False),
    Measure(name="broken_sums", title="broken sums", value=_broken, factor=False),
    Measure(name="l1", title="L1 distance from the truth", value=_measured("l1")),
    Measure(name="emd", title="earth mover's distance from the truth", value=_measured("emd")),
    Measure(name="error", title="error", value=_measured("error")),
)

COLUMNS = (
    TableColumn(name="measure", title="measure", form="text"),
    *(TableColumn(name=name, title=name, form="text") for name in ("family", "instance", "model", "noise")),
    TableColumn(name="budget", title="budget"),
    TableColumn(name="method", title="method", form="text"),
    TableColumn(name="pairs", title="pairs", form="whole", about="both sides have a value"),
    TableColumn(name="only_a", title="only A", form="whole", about="B was killed, failed, broke a condition"),
    TableColumn(name="only_b", title="only B", form="whole", about="A was killed, failed, broke a condition"),
    TableColumn(name="a_better", title="A better", form="whole"),
    TableColumn(name="ties", title="ties", form="whole"),
    TableColumn(name="b_better", title="B better", form="whole"),
    TableColumn(name="mean_a", title="mean A"),
    TableColumn(name="mean_b", title="mean B"),
    TableColumn(name="ratio", title="B / A", form="ratio", about="geometric mean over the pairs"),
    TableColumn(name="lower", title="95 % from", form="ratio"),
    TableColumn(name="upper", title="95 % to", form="ratio"),
    TableColumn(name="p_wilcoxon", title="p Wilcoxon", form="p", about="signed-rank test, exact up to 200"),
    TableColumn(
        name="p_signs",
        title="p sign flips",
        form="p",
        about="permutation test that flips the signs of the differences",
    ),
    TableColumn(
        name="p_holm",
        title="p Holm",
        form="p",
        about="p Wilcoxon, adjusted for the lines of its measure, not for the number of measures",
    ),
)


def compare_results(
    a: Rows, b: Rows, *, names: tuple[str, str] = ("A", "B"), measures: Sequence[str] | None = None
) -> TableData:
    """Two results: one line a measure, instance, model, noise, budget and method; pairs over the seeds.

    `ratio` is the geometric mean of B / A over the pairs where both are positive, with an expanded
    percentile bootstrap interval (Student's for fewer than 6 pairs). The tests are on logarithms for times,
    memory and distances where all values are positive, else on differences. `p_holm` adjusts `p_wilcoxon`
    for the number of lines of the measure in which any pair differs. A line "all" sums a measure up, each
    setting counted alike: its interval and `p_signs` are by resampling, and by flipping signs, of the pairs
    within each setting, so they speak of these settings and of no others.
    Raises InputError if nothing can be paired, or for a measure that is not known.
    """
    return _table(pair_results(a, b, names), measures, methods=None)


def compare_methods(
    rows: Rows, methods: tuple[str, str], *, measures: Sequence[str] | None = None
) -> TableData:
    """Two methods of one result, on the problems that both were given; else as `compare_results`."""
    return _table(pair_methods(rows, methods), measures, methods=methods)


def _table(paired: Paired, asked: Sequence[str] | None, methods: tuple[str, str] | None) -> TableData:
    lines: list[dict[str, Cell]] = []
    zeros = 0
    for measure in _chosen(asked):
        own: list[dict[str, Cell]] = []
        logs: list[list[float]] = []
        for key, pairs in grouped_pairs(paired.pairs, with_method=methods is None).items():
            line = _line(pairs, measure)
            if line is not None:
                ratios = _log_ratios(pairs, measure)
                zeros += int(line["pairs"] or 0) - len(ratios) if measure.factor else 0
                logs += [ratios] if ratios else []
                own.append(dict(zip(_KEY, key, strict=True)) | line | {"measure": measure.name})
        if measure.name == "broken_sums" and not any(line["mean_a"] or line["mean_b"] for line in own):
            continue
        tested = [_real(line["p_wilcoxon"]) if line["ties"] != line["pairs"] else None for line in own]
        for line, p in zip(own, holm(tested), strict=True):
            line["p_holm"] = p
        lines += own
        if len(own) > 1:
            lines.append(_summed_up(own, logs) | {"measure": measure.name})
    empty = {name for name in ("noise", "budget", "method") if all(line.get(name) is None for line in lines)}
    columns = [column for column in COLUMNS if column.name not in empty]
    rows = [{name: cell for name, cell in line.items() if name not in empty} for line in lines]
    first, second = paired.names
    return make_table(
        "compare",
        f"A: {first}, B: {second}",
        f"Runs of A ({first}) and B ({second}) on the same problems, pair by pair. For every measure smaller "
        "is better: a ratio B / A below 1 speaks for B. The intervals hold the ratio with 95 % confidence "
        "(bootstrap; Student's for fewer than 6 pairs). A p value is the chance of differences at least as "
        "large as these if A and B were alike: by Wilcoxon's signed-rank test, by a permutation test that "
        "flips the signs of the differences, and, column Holm, by Wilcoxon's with an adjustment for the "
        "number of lines of the same measure. Nothing adjusts for the number of measures. An interval and a "
        "p value may disagree: the one is about the mean ratio, the other about ranks, and with n pairs no p "
        "value is below 2 / 2^n.",
        columns,
        rows,
        [*paired.notes, *_notes(lines, zeros)],
    )


def for_paper(table: TableData) -> TableData:
    """The columns that a paper needs; those of runs without a partner if there are any."""
    alone = [name for name in ("only_a", "only_b") if any(table.column(name))]
    wanted = (
        *("measure", "instance", "model", "noise", "budget", "method", "pairs", *alone),
        *("mean_a", "mean_b", "ratio", "lower", "upper", "p_holm"),
    )
    known = {column.name for column in table.columns}
    return table.only(*(name for name in wanted if name in known))


def _chosen(asked: Sequence[str] | None) -> list[Measure]:
    known = {measure.name: measure for measure in MEASURES}
    for name in asked or ():
        if name not in known:
            raise InputError(f"no measure '{name}'", "--measure", f"there are {', '.join(known)}")
    return [known[name] for name in asked] if asked else list(MEASURES)


_KEY = ("family", "instance", "model", "noise", "budget", "method")


def grouped_pairs(pairs: Sequence[Pair], *, with_method: bool) -> dict[tuple[Cell, ...], list[Pair]]:
    """Pairs that differ in the seed alone."""
    settings = columns_of("family", "instance", "model")
    groups: dict[tuple[Cell, ...], list[Pair]] = {}
    for one, two in pairs:
        method = None
        if with_method:
            # Two results of one method each: both names.
            method = one["method"] if one["method"] == two["method"] else f"{one['method']}/{two['method']}"
        groups.setdefault((*settings(one), input_noise(one), budget(one)[0], method), []).append((one, two))
    return groups


def _values(pairs: Sequence[Pair], measure: Measure) -> list[tuple[float | None, float | None]]:
    return [(measure.value(one), measure.value(two)) for one, two in pairs]


def _both(pairs: Sequence[Pair], measure: Measure) -> list[tuple[float, float]]:
    return [(a, b) for a, b in _values(pairs, measure) if a is not None and b is not None]


def _log_ratios(pairs: Sequence[Pair], measure: Measure) -> list[float]:
    """Log(B / A) where both are positive."""
    return [math.log(b) - math.log(a) for a, b in _both(pairs, measure) if a > 0 and b > 0]


def _line(pairs: Sequence[Pair], measure: Measure) -> dict[str, Cell] | None:
    """One line without its names; None if neither side has a value."""
    values = _values(pairs, measure)
    both = _both(pairs, measure)
    only_a = sum(a is not None and b is None for a, b in values)
    only_b = sum(a is None and b is not None for a, b in values)
    if not both and not only_a and not only_b:
        return None
    ratios = _log_ratios(pairs, measure)
    logarithms = measure.factor and len(ratios) == len(both)
    # Whole objectives are subtracted before they become floating-point numbers.
    differences = ratios if logarithms else [float(b - a) for a, b in both]
    lower, upper = bootstrap_interval(ratios) or (None, None)
    return {
        "pairs": len(both),
        "only_a": only_a,
        "only_b": only_b,
        "a_better": sum(a < b for a, b in both),
        "ties": sum(a == b for a, b in both),
        "b_better": sum(a > b for a, b in both),
        "mean_a": _mean([a for a, _ in both]),
        "mean_b": _mean([b for _, b in both]),
        "ratio": geometric_mean([math.exp(ratio) for ratio in ratios]),
        "lower": None if lower is None else math.exp(lower),
        "upper": None if upper is None else math.exp(upper),
        "p_wilcoxon": signed_rank(differences),
        "p_signs": sign_flip(differences),
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _real(cell: Cell) -> float | None:
    return None if cell is None else float(cell)


def _summed_up(lines: Sequence[dict[str, Cell]], logs: Sequence[Sequence[float]]) -> dict[str, Cell]:
    """All settings of a measure: counts added up; `logs` of the ratios by setting, each counted alike."""
    counts = ("pairs", "only_a", "only_b", "a_better", "ties", "b_better")
    lower, upper = stratified_interval(logs) or (None, None)
    found: dict[str, Cell] = {name: sum(int(line[name] or 0) for line in lines) for name in counts}
    return found | {
        "instance": ALL,
        "ratio": math.exp(math.fsum(_mean(own) or 0.0 for own in logs) / len(logs)) if logs else None,
        "lower": None if lower is None else math.exp(lower),
        "upper": None if upper is None else math.exp(upper),
        "p_signs": sign_flip([ratio / len(own) for own in logs for ratio in own]),
    }


def _notes(lines: Sequence[dict[str, Cell]], zeros: int) -> list[str]:
    """What the tests could not see."""
    single = [line for line in lines if line.get("instance") != ALL]
    notes = []
    for side, other in (("a", "B"), ("b", "A")):
        if any(line[f"only_{side}"] for line in single):
            notes.append(
                f"Means, ratios and tests leave out the problems on which only {side.upper()} has a value "
                f"(column 'only {side.upper()}'): there {other} is worse than these numbers say."
            )
    if zeros:
        notes.append(f"{count(zeros, 'pair')} with a value of 0 not in a ratio; the tests have them.")
    for name, own in grouped(single, lambda line: str(line["measure"])).items():
        differing = [d for line in own if (d := _differing(line))]
        least = min((2.0 ** (1 - d) for d in differing), default=0.0)
        if least * len(differing) > ALPHA:
            notes.append(
                f"{name}: with {count(max(differing), 'pair')} that differ and "
                f"{count(len(differing), 'line')} no p value can fall below {ALPHA:g} after Holm's "
                "adjustment: run more seeds."
            )
    return notes


def _differing(line: dict[str, Cell]) -> int:
    """Pairs that are not equal."""
    return int(line["a_better"] or 0) + int(line["b_better"] or 0)
