"""The words of an inequality release: what is protected, at what cost, and what is public."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction

from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper
from pgsr.privacy import show

_LISTED = 24


def size_items(sizes: Mapping[str, int], grouped: bool) -> tuple[str, ...]:
    """What is taken from the data as it is: how many records there are, by group."""
    total = sum(sizes.values())
    if not grouped:
        return (f"the number of records, {total}",)
    if len(sizes) <= _LISTED:
        listed = ", ".join(f"'{label}' {n}" for label, n in sizes.items())
    else:
        text = "\n".join(f"{label}\t{n}" for label, n in sizes.items())
        mark = hashlib.sha256(text.encode()).hexdigest()
        listed = f"{len(sizes)} groups, {total} records, in the table inequality (sha256 {mark})"
    return (f"the number of records of each group: {listed}",)


def public_items(
    *,
    grouped: bool,
    lower: float,
    upper: float | PrivateUpper,
    shift: float,
    clip: bool,
    queries: tuple[IndexQuery, ...],
    overall: tuple[IndexQuery, ...],
) -> tuple[str, ...]:
    """What is public, fixed before the data is seen and not protected, one item each."""
    items = []
    if grouped:
        items.append("the list of group labels and the label of each record")
    items.append(f"the lower bound of the incomes, {lower!r}")
    if isinstance(upper, PrivateUpper):
        items.append(
            f"the candidates for the upper bound, {upper.grid}; incomes above the one that is drawn count as "
            "equal to it"
        )
    else:
        items.append(f"the upper bound of the incomes, {upper!r}")
    if shift:
        items.append(f"the amount added to every income before all else, {shift!r}")
    if clip:
        items.append("the rule that incomes outside the bounds are moved to the nearer bound")
    where = "in each group: " if grouped else ""
    if queries:
        items.append(f"the indices and their noise, {where}{'; '.join(str(query) for query in queries)}")
    if overall:
        items.append(f"of all records together: {'; '.join(str(query) for query in overall)}")
    items.append(
        "the grid of each release and bounds on rounding errors: functions of n, the bounds, these queries"
    )
    return tuple(items)


def cost_text(
    upper: float | PrivateUpper,
    queries: tuple[IndexQuery, ...],
    overall: tuple[IndexQuery, ...],
    grouped: bool,
    total: Fraction,
) -> str:
    """How the cost adds up."""
    parts = []
    if isinstance(upper, PrivateUpper):
        assert upper.epsilon_tau is not None
        parts.append(
            f"{show(upper.epsilon)} for the upper bound (threshold {show(upper.epsilon_tau)}, "
            f"queries {show(upper.epsilon_queries)}), drawn once for all"
        )
    if queries:
        listed = ", ".join(f"{query.index} {show(query.epsilon)}" for query in queries)
        once = "; the groups share no record, so all of them cost as much as one" if grouped else ""
        parts.append(f"{listed}{' in each group' if grouped else ''}{once}")
    if overall:
        listed = ", ".join(f"{query.index} {show(query.epsilon)}" for query in overall)
        parts.append(f"{listed} of all records together")
    return f"The cost {show(total)} is the sum of: {'; '.join(parts)}."


def guarantee_text(
    *,
    total: Fraction,
    unit: str,
    grouped: bool,
    public: tuple[str, ...],
    invariants: tuple[str, ...],
    cost: str,
    randomness: str,
    secure: bool,
    clip: bool,
    private_upper: bool,
) -> str:
    """The sentences of a release."""
    if clip:
        other = "another that is not negative"
    else:
        other = "another that is not below the lower bound" if private_upper else "another within the bounds"
    same = "its label and the number of records stay" if grouped else "the number of records stays"
    claim = f"{show(total)}-DP (pure, epsilon = {show(total)}) for one record, the income of one {unit}"
    parts = [
        f"{claim}: neighbours differ by replacing the income of one record by {other}; {same} the same.",
        "Data with other incomes are refused before the charge. Refusals, and their absence, are open.",
        cost,
        f"Public, fixed and not protected: {'; '.join(public)}.",
        f"Held invariant: {'; '.join(invariants)}. These come from the data and are disclosed as they are.",
        "Not covered: adding or removing a record, or changing its label. k records cost k epsilon.",
        "Drawn exactly, in integers.",
        "Indices and sensitivities are computed in floating point.",
        "Public bounds of their rounding errors are paid for in the noise; the claim assumes these bounds.",
        "Running time is not protected.",
        f"Noise from {randomness}; the claim assumes that generator.",
    ]
    if not secure:
        parts.append("Fixed seed: NOT PRIVATE.")
    return " ".join(parts)
