"""The headlines of the benchmark report: what its tables say, in sentences, most important first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from pgsr.bench.analysis.accuracy import inequality_table
from pgsr.bench.analysis.noises import coverage_table, noise_table
from pgsr.bench.analysis.relaxed import relaxed_table
from pgsr.bench.analysis.rowsets import NEVER_TRIED, count
from pgsr.bench.analysis.scaling import scaling_fits
from pgsr.bench.analysis.solvers import solver_table
from pgsr.bench.analysis.tabledata import shown
from pgsr.bench.pages import Row

Record = Mapping[str, Any]

FEWEST = 5
"""Problems that a verdict on solvers takes."""
MOST_NAMES = 4
"""Names in a sentence; of more the first are named and the others counted."""


def headlines(rows: Sequence[Row], known: Mapping[str, float], proven: Collection[str] = ()) -> list[str]:
    """What was found, one sentence or two each; only what the rows support.

    `known`: best-known objectives by fingerprint; `proven`: the fingerprints of those that are proven.
    """
    sizes = [row for row in rows if row["family"] == "groupsizes"]
    return [
        *_conditions(relaxed_table(sizes).records()),
        *_solvers(solver_table(sizes, known=known, proven=proven).records()),
        *_growth(scaling_fits(sizes).records()),
        *_noises(noise_table(sizes, "l1").records()),
        *_indices(inequality_table(rows).records()),
        *_areas(coverage_table(rows).records()),
        *_ends(rows),
    ]


def _conditions(records: Sequence[Record]) -> Iterator[str]:
    """What rounding breaks, what exact answers keep, and what heuristics and rounding cost."""
    for model in _values(records, "model"):
        own = [r for r in records if r["model"] == model]
        exact = [r for r in own if r["kind"] == "exact" and r["broken_share"] is not None]
        rounded: dict[tuple[Any, ...], list[Record]] = {}
        for r in own:
            if r["kind"] == "rounded" and r["broken_share"]:
                same = (_share(r["broken_share"]), r["runs"], r["worst_sum"])
                rounded.setdefault(same, []).append(r)
        yield from (_rounding(model, alike) for alike in rounded.values())
        wrong = [r for r in exact if r["keeps_all"] < 1]
        if exact and not wrong:
            tables = sum(r["runs"] for r in exact)
            yield f"The exact answers to the {model} model broke no sum in {count(tables, 'table')}."
        elif exact:
            worst = max(wrong, key=lambda r: r["broken_share"])
            what = (
                f"{_share(worst['broken_share'])} of the sums broken"
                if worst["broken_share"]
                else f"conditions broken in {_broken(worst)}"
            )
            yield f"Something is wrong: {worst['method']}, an exact solver of the {model} model, left {what}."
        for r in own:
            if r["kind"] == "heuristic":
                yield _heuristic(model, r)
            if r["kind"] == "noisy" and r["l1_ratio"] is not None and exact:
                moves = "moves" if r["l1_ratio"] > 1 else "does not move"
                yield (
                    f"Exact post-processing of the {model} model {moves} the tables nearer to the truth: "
                    f"the noisy ones are {_times(r['l1_ratio'])}as far away (L1, all levels together)."
                )


def _heuristic(model: str, r: Record) -> str:
    """Whether a heuristic keeps the conditions; only then its objective says something."""
    if r["keeps_all"] < 1:
        sums = f" (sums are off by up to {shown(r['worst_sum'])})" if r["worst_sum"] else ""
        return (
            f"The heuristic {r['method']} breaks conditions of the {model} model in {_broken(r)}{sums}: its "
            "objective and its error do not stand beside those of tables that keep them."
        )
    if r["excess"] is None:
        cost = ""
    elif r["excess"] > 0:
        cost = f" at an objective {_share(r['excess'])} above the exact one on average"
    else:
        cost = ", with objectives that are not above the exact ones on average"
    where = f"in its table{'s' if r['runs'] > 1 else ''} ({r['runs']:,})" if not cost else ""
    return f"The heuristic {r['method']} keeps the conditions of the {model} model{cost or ' ' + where}."


def _broken(r: Record) -> str:
    """In how many tables some condition is broken."""
    if r["runs"] == 1:
        return "its only table"
    return f"{round(r['runs'] * (1 - r['keeps_all'])):,} of {count(r['runs'], 'table')}"


def _rounding(model: str, alike: Sequence[Record]) -> str:
    """What rounding breaks, said once for methods of the same numbers."""
    r = alike[0]
    far = (
        ""
        if r["l1_ratio"] is None
        else f" They are {_times(r['l1_ratio'])}as far from the truth as exact ones (L1)."
    )
    return (
        f"Rounding the relaxation breaks sums: in the {model} model "
        f"{_names(_values(alike, 'method'))} left {_share(r['broken_share'])} of the counts "
        f"different from the sum of their parts, in {count(r['runs'], 'table')} "
        f"({_share(r['worst_share'])} in the worst one), by up to {shown(r['worst_sum'])}.{far}"
    )


def _solvers(records: Sequence[Record]) -> Iterator[str]:
    """Proofs, and the fastest solver of each kind of problem."""
    for model in _values(records, "model"):
        exact = [r for r in records if r["model"] == model and r["kind"] == "exact"]
        solved, proven = sum(r["solved"] for r in exact), sum(r["proven"] for r in exact)
        if solved and solved == proven:
            which = f"all {solved:,} answers" if solved > 1 else "the one answer"
            yield (
                f"Optimality of {which} of exact solvers to the {model} model is proven from the problem "
                "itself."
            )
        elif solved:
            yield (
                f"Of the {solved:,} answers that exact solvers of the {model} model call optimal, "
                f"{proven:,} are proven optimal from the problem itself{_agreed(exact, solved - proven)}."
            )
        ranked = [r for r in exact if r.get("mean_s") is not None and r["solved"]]
        if len(ranked) > 1:
            ranked.sort(key=lambda r: (-r["solved"] / r["problems"], r["mean_s"]))
            first, second = ranked[:2]
            given = first.get("compared") or first["problems"]
            if given < FEWEST:
                yield (
                    f"No verdict on the best solver of the {model} model: {len(ranked)} solvers had "
                    f"{count(given, 'problem')} in common, and a verdict takes {FEWEST}."
                )
                continue
            yield (
                f"Best solver of the {model} model on the {given:,} problems given to all: {first['method']} "
                f"solved {first['solved']:,} of {count(first['problems'], 'problem')}, "
                f"{first['mean_s']:.3g} s on average; next is {second['method']} with "
                f"{second['solved']:,} of {second['problems']:,}, {second['mean_s']:.3g} s."
            )


def _agreed(records: Sequence[Record], unproven: int) -> str:
    """Answers without a proof of their own whose objective is proven elsewhere."""
    agreed = sum(r.get("agreed") or 0 for r in records)
    if not agreed:
        return ""
    left = "" if agreed == unproven else f", and {unproven - agreed:,} open"
    return (
        f"; {agreed:,} more {'has' if agreed == 1 else 'have'} a proven objective (by another run of the "
        f"same problem, or in the list of best-known values){left}"
    )


def _growth(records: Sequence[Record]) -> Iterator[str]:
    """The smallest and largest exponents of time of exact solvers."""
    for model in _values(records, "model"):
        own = [r for r in records if r["model"] == model and r["kind"] == "exact"]
        for r in sorted(own, key=lambda r: r["exponent"])[:1]:
            less = " (some runs were cut off: likely more)" if r["cut"] else ""
            span = "" if r["lower"] is None else f" ({r['lower']:.2f} to {r['upper']:.2f})"
            yield (
                f"The time of {r['method']} on {r['instance']} ({model}) grows as the number of entries "
                f"to the power {r['exponent']:.2f}{span}{less}, from {r['smallest']:,} to "
                f"{r['largest']:,} entries."
            )


def _noises(records: Sequence[Record]) -> Iterator[str]:
    """Whether another kind of noise is better or worse than the geometric one."""
    others = [r for r in records if r["noise"] != "geometric" and r["lower"] is not None]
    for noise in _values(others, "noise"):
        own = [r for r in others if r["noise"] == noise]
        better, worse = sum(r["upper"] < 1 for r in own), sum(r["lower"] > 1 for r in own)
        ratios = sorted(r["ratio"] for r in own)
        yield (
            f"With {noise} noise instead of geometric noise the L1 error is {ratios[0]:.2f} to "
            f"{ratios[-1]:.2f} times as large; in {count(len(own), 'setting')} it is clearly smaller in "
            f"{better} and clearly larger in {worse}."
        )


def _indices(records: Sequence[Record]) -> Iterator[str]:
    """The best noise for each index at the budget nearest to 1."""
    for index in _values(records, "model"):
        own = [r for r in records if r["model"] == index and r["epsilon"] is not None]
        for instance in _values(own, "instance")[:1]:
            here = [r for r in own if r["instance"] == instance]
            at = min({r["epsilon"] for r in here}, key=lambda e: abs(e - 1))
            here = sorted((r for r in here if r["epsilon"] == at), key=lambda r: r["error"])
            if len(here) > 1 and here[0]["error"] > 0:
                yield (
                    f"Index {index} on {instance} at ε = {at:g}: smallest median error "
                    f"{here[0]['error']:.3g} with {here[0]['method']}, largest {here[-1]['error']:.3g} "
                    f"with {here[-1]['method']}."
                )


def _areas(records: Sequence[Record]) -> Iterator[str]:
    """Intervals of small areas that promise too much."""
    judged = [r for r in records if r["coverage"] is not None]
    if not judged:
        return
    short = [r for r in judged if r["short"]]
    known = [r for r in judged if r["upper"] is not None]
    if short:
        worst = min(short, key=lambda r: r["coverage"])
        yield (
            f"In {len(short)} of {count(len(known), 'setting')} the 95 % intervals of small areas hold "
            f"the truth clearly too rarely, least for {worst['method']} on {worst['instance']}: "
            f"{_share(worst['coverage'])}{_by_chance(worst)}."
        )
    else:
        least = min(judged, key=lambda r: r["coverage"])
        yield (
            f"The 95 % intervals of small areas held the truth least often for {least['method']} on "
            f"{least['instance']}: in {_share(least['coverage'])} of the areas{_by_chance(least)}. "
            + _CHANCE[str(least["over"])]
        )


_CHANCE = {
    "areas": "That and all others are within chance of 95 %, or above: with so few areas this does not show "
    "that the promise is kept.",
    "seeds": "Nowhere is that clearly below 95 %.",
    "None": "One repetition alone says little.",
}


def _by_chance(r: Record) -> str:
    """The interval of a coverage, and the areas behind it."""
    if r["upper"] is None:
        return ""
    areas = r["areas"]
    hits = f"{round(r['coverage'] * areas)} of {areas}; " if r["over"] == "areas" else ""
    seeds = count(r["seeds"], "seed")
    return f" ({hits}{seeds}, 95 % interval {_share(r['lower'])} to {_share(r['upper'])})"


def _ends(rows: Sequence[Row]) -> Iterator[str]:
    """Runs that did not come to their end, and those that did not take place."""
    never = [row for row in rows if row["outcome"] in NEVER_TRIED]
    lost = [row for row in rows if row["outcome"] != "ran" and row["outcome"] not in NEVER_TRIED]
    whole = count(len(rows), "run")
    if lost:
        yield (
            f"{len(lost):,} of {whole} were killed, ran out of memory or failed "
            f"({_names(_values(lost, 'method'))}): the section 'What was run' says why. They count as not "
            "solved."
        )
    if never:
        yield (
            f"{len(never):,} of {whole} did not take place ({_names(_values(never, 'method'))}): the method "
            "does not take such a problem, or its library is not installed. That says nothing about how good "
            "it is."
        )


def _names(names: Sequence[str]) -> str:
    """Some names in words; of many the first."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[: MOST_NAMES - 1])} and {len(names) - MOST_NAMES + 1} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _values(records: Sequence[Record], name: str) -> list[Any]:
    """The values of an entry in the order in which they come, `hierarchical` first."""
    values = list(dict.fromkeys(r[name] for r in records))
    return sorted(values, key=lambda value: value != "hierarchical")


def _share(value: float) -> str:
    return shown(float(value), "share").replace(" %", "\u00a0%")


def _times(value: float) -> str:
    """A factor before "as far"; nothing where it is 1."""
    text = f"{value:.2f}"
    return "" if text == "1.00" else f"{text} times "
