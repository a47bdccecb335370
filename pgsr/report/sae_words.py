"""The sentences of a disclosure review: what is asked, what was looked at, what a reviewer must confirm."""

from __future__ import annotations

from typing import Any

from pgsr.sae.statement import CONDITIONAL

Record = dict[str, Any]

KINDS = {
    "joint": " from the joint posterior of all areas",
    "marginals": " of every area from its own posterior",
    "noisy-direct": "noisy direct estimates, and what the model makes of them",
}
ORIGINS = {
    "public": "public",
    "dp": "private releases on the way, which are part of the cost",
    "invariant": "the same data, held invariant",
}
WAYS = {
    "direct": "direct estimates, not private",
    "predictor": "predictors, not private",
    "draw": "posterior draws",
    "reshrunk": "the same draws, shrunk again",
    "noisy_direct": "noisy direct estimates, then the model",
}
NOT_DP = (
    "This release is NOT differentially private. Its figure is conditional: it treats sampling variances and "
    "model variance as known, although they come from the same data. No privacy ledger takes it."
)
SEEDED = "FIXED SEED: the noise can be reproduced, so nothing is protected. For experiments only."


def asked(record: Record) -> str:
    """What is, or was, released, in one line."""
    what, count = KINDS[record["kind"]], record["draws"]
    if record["kind"] != "noisy-direct":
        what = f"{count} draws{what}" if count > 1 else f"one draw{what}"
    return f"{what}; {record['areas_count']:,} areas"


def delta_text(delta: float) -> str:
    """A delta for people: 1e-7, not 1e-07, and 1e-4 beside it."""
    head, exponent = f"{delta:.5e}".split("e")
    return f"{float(head):g}e{int(exponent)}" if delta < 0.01 else f"{delta:g}"


def most_exposed(record: Record) -> str:
    """Whose record pays most, in a few words."""
    worst = record["most_exposed"]
    if "other_area" in worst:
        return f"a record that goes from {worst['area']} to {worst['other_area']}, rho = {worst['rho']:.4g}"
    who = "that leaves or joins" if record["moves"] else "of"
    return f"a record {who} {worst['area']}, rho = {worst['rho']:.4g}"


def no_budget(record: Record) -> str:
    """Why the ledger does not take a planned release; empty if it does, or is not asked."""
    ledger = record["ledger"]
    if ledger is None or record["what"] != "configuration":
        return ""
    if ledger["suffices"] is False:
        return f"The ledger {ledger['file']} does NOT take this release: {ledger['reason']}."
    return ledger["note"] if ledger["missing"] else ""


def looked_at(record: Record) -> tuple[list[str], list[str]]:
    """What this page was made from, and what was not read."""
    hidden = record["hidden"]
    same = f"{hidden}, even where the file has it: this page is the same whatever is in it"
    public = f"the configuration, the ledger, and the public columns of the {record['from']}"
    bounded = [_BOUNDED] if record["bounded"] else []
    if record["what"] == "release":
        seen = ["the files of the release folder, all of them published"]
        if record["compared"]:
            return [*seen, public, *bounded], [same]
        way_out = "give --config CONFIG.toml to see the cost by area, and to check what was asked for"
        return seen, [
            "the survey records and the direct estimates",
            f"sensitivities by area, which the folder does not hold: {way_out}",
        ]
    seen, unseen = [public, *bounded], [same]
    if record["conditional"]:
        unseen.append(
            "sampling variances and model variance: they come from the same data, so no cost by area is "
            "shown, and no digest from which they could be guessed"
        )
    unseen.append("whether the direct estimates fit the mechanism: pgsr sae release --dry-run checks that")
    if record["trimming"] is not None:
        seen.append("the survey weights: areas and weights, no outcomes")
    return seen, unseen


_BOUNDED = (
    "weights and areas of the file of records, which are NOT public where records may move: only to check "
    "them against their public bounds, and no figure here depends on them"
)
_WEIGHTS = (
    "Survey weights, sample sizes and each record's area may be treated as public. The weights were not "
    "adjusted with the outcome that is released here (calibration and nonresponse adjustment with this "
    "outcome would make them depend on it)."
)
_BOUNDS = (
    "The bound on weights and the least weight totals behind the sensitivities are public and hold whatever "
    "record comes, goes or moves."
)
_RANGE = (
    "Every outcome lies in the public range that the sensitivities were computed with; values outside were "
    "clipped before the direct estimates were computed."
)
_ALONE = (
    "Nothing else computed from these records is published or passed on outside the ledger: no direct "
    "estimates, posterior means, standard errors, maps or tables."
)
_ALONE_CONDITIONAL = (
    "Nothing else computed from these records is published: no variances, posterior means, standard errors, "
    "maps or tables. What else was released of them is known to whoever decides."
)


def checklist(record: Record) -> list[str]:
    """What no program can check, for the reviewer to tick."""
    unit, kind, origin = record["unit"], record["kind"], record["variances"]
    said = []
    if record["conditional"]:
        said.append(
            "Somebody who may decide so has accepted a release without differential privacy, and the public "
            f"is told so in these words: {CONDITIONAL}"
        )
    said.append(
        f"One {unit}'s data are one record. If several records belong together (a household, a person asked "
        "twice), the sensitivities are those of all of them at once, and the unit says so."
    )
    said += [_BOUNDS if record["moves"] else _WEIGHTS, _RANGE]
    if origin == "public" and kind != "noisy-direct":
        source = record["source"] or "the source that is stated"
        said.append(
            f"Sampling variances D and model variance A come from {source}, and not from the outcomes that "
            "are released here. (If they do, no figure on this page holds.)"
        )
    elif origin == "public":
        said.append("Variances that the configuration gives do not come from the outcomes released here.")
    elif origin == "dp" and kind == "joint":
        said.append("All budgets, the clip, the reference and the clamp were fixed before anything was seen.")
    said.append("Covariates and the list of areas do not depend on the outcomes that are released here.")
    said.append(_ALONE_CONDITIONAL if record["conditional"] else _ALONE)
    said.append("Areas that the house rules suppress (too few records) are left out, or merged, beforehand.")
    if record["what"] == "configuration":
        said.append("The configuration was not tuned by looking at releases of the same outcomes.")
    else:
        said.append("Only the files listed here are handed out, and the guarantee goes with them.")
        if record["charges"]:
            many = "one release" if record["charges"] == 1 else f"{record['charges']} releases"
            said.append(
                f"The charges in the ledger of this cost and label pay for {many}: no more were made of "
                "them. (The ledger cannot tell two releases of one cost and label apart.)"
            )
    return said


def why_exposed(worst: Record, unit: str, *, moves: bool = False) -> str:
    """Why one area pays more than the others."""
    if "other_area" in worst:
        return (
            f"A record that goes from {worst['area']} to {worst['other_area']}, or back, pays the most: rho "
            f"= {worst['rho']:.4g}. It moves the direct estimates of both. In {worst['area']} the "
            f"sensitivity is {worst['sensitivity']:.4g} (median area {worst['sensitivity_median']:.4g}), the "
            f"sampling variance {worst['variance']:.4g} (median area {worst['variance_median']:.4g}). By "
            "area, the table says what a record pays at most that leaves or joins it; the median of that is "
            f"{worst['rho_median']:.4g}."
        )
    if "variance" not in worst:
        who = "that leaves or joins" if moves else "of"
        return (
            f"These are bounds, fixed beforehand. A record {who} {worst['area']} may pay the most: rho = "
            f"{worst['rho']:.4g} (median area {worst['rho_median']:.4g}). Where the floor under the sampling "
            f"variance binds, all areas pay the same for the draws. One {unit}'s record moves the direct "
            f"estimate there by up to {worst['sensitivity']:.4g} (median area "
            f"{worst['sensitivity_median']:.4g})."
        )
    parts = [
        f"A record of {worst['area']} pays the most: rho = {worst['rho']:.4g}.",
        f"A record of the median area pays {worst['rho_median']:.4g}.",
    ]
    parts.append(
        f"One {unit}'s record moves its direct estimate by up to {worst['sensitivity']:.4g} (median area "
        f"{worst['sensitivity_median']:.4g}), and its sampling variance is {worst['variance']:.4g} "
        f"(median area {worst['variance_median']:.4g}), so that its cost before shrinkage, "
        f"Delta^2 / (2 D) a draw, is {worst['rho_free']:.4g}. Of that, shrinkage leaves the factor "
        f"c = {worst['gain']:.3g} (B = {worst['shrinkage']:.3g}; median area "
        f"{worst['shrinkage_median']:.3g})."
    )
    if worst["rho"] > worst["rho_free"] * worst["gain"] * (1 + 1e-9):
        parts.append(f"Drawing the areas independently multiplies it by {1 + worst['correlation2']:.4g}.")
    larger = worst["sensitivity"] / worst["sensitivity_median"]
    smaller = worst["variance_median"] / worst["variance"]
    if larger > 1 and larger**2 > smaller:
        parts.append(
            "Its sensitivity, the largest weight over the sum of weights, is what makes the difference."
        )
    elif smaller > 1:
        parts.append("Its small sampling variance is what makes the difference.")
    else:
        parts.append("It is shrunk less than others, which is what makes the difference.")
    return " ".join(parts)
