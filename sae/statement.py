"""The words of a small area release: what is protected, at what cost, and what is public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pgsr.errors import InputError
from pgsr.noise import BitSource
from pgsr.privacy import Guarantee, PrivacyEvent, show
from pgsr.sae.frame import AreaFrame

CONDITIONAL = (
    "Conditional figure, not a DP guarantee for these data: D_i and A are treated as known constants. "
    "Changing one record nearly always changes estimated D_i and A; such pairs are not covered, and there "
    "may be none that are."
)
"""How the guarantee of every conditional release begins."""

IDEALISED = (
    "Normals come from an exact discrete sampler with step 2^-28 and are added in floating point; results "
    "are published on public grids. The claim is for real arithmetic."
)


Variances = Literal["public", "dp", "invariant"]
"""Where D and A come from: public figures, releases that are charged for, or the same data."""


def assumptions(
    released: str, *, unit: str = "person", weights_fixed: bool = True, variances: Variances = "public"
) -> tuple[str, ...]:
    """What the figures of `AreaGuarantees` rest on, in words; `released` as in `AreaGuarantees.rho`."""
    ways = {
        "joint": "Released: one draw from the joint posterior of all areas.",
        "marginals": "Released: every area drawn independently from its own posterior.",
        "sequential": "Released: every area in its own release; an upper bound, the sum over the areas.",
        "free": "Released: one draw from the joint posterior; the figure holds for every model variance and "
        "design.",
    }
    origins = {
        "public": "D_i and A, the variances, are public; they do not come from these data.",
        "dp": "D_i and A come from private releases of these data, whose cost is to be added.",
        "invariant": CONDITIONAL,
    }
    if released not in ways or variances not in origins:
        raise InputError("unknown release or origin", "assumptions", "see AreaGuarantees.rho and Variances")
    stays = "its weight and area stay the same" if weights_fixed else "its weight may change within the bound"
    return (
        origins[variances],
        ways[released],
        f"Neighbours differ in one {unit}'s record: its outcome changes within the public range; {stays}.",
        "The prior of the regression coefficients is flat and the design public.",
        "Posterior means are not published, neither alone nor beside a draw.",
    )


def zcdp_guarantee(
    *,
    frame: AreaFrame,
    event: PrivacyEvent,
    sentences: Sequence[str],
    public: Sequence[str],
    rng: BitSource,
    exact: bool = False,
) -> Guarantee:
    """An unconditional rho-zCDP guarantee: `sentences` on cost and method, `public` beyond the frame's."""
    assert event.rho is not None
    rho = show(event.rho)
    items = (*frame.items(), *public)
    parts = [
        f"{rho}-zCDP (rho = {rho}) for one {frame.unit}'s record: neighbours differ by {frame.neighbours()}.",
        *sentences,
        f"Public, fixed and not protected: {'; '.join(items)}.",
        "None of it may be computed from the outcomes that are released here.",
        "k records cost k^2 rho.",
        *_ending(rng, exact),
    ]
    return Guarantee(
        event=event,
        text=" ".join(parts),
        public=items,
        sampler="exact" if exact else "idealised",
        randomness=rng.description,
        secure=rng.secure,
    )


def conditional_guarantee(
    *, frame: AreaFrame, event: PrivacyEvent, sentences: Sequence[str], rng: BitSource
) -> Guarantee:
    """The statement of a release whose variances come from the same data; no ledger takes its event."""
    assert event.rho is not None
    invariants = ("the sampling variances D_i and the model variance A, estimated from the same data",)
    parts = [
        CONDITIONAL,
        f"Under that condition alone rho = {show(event.rho)}, rounded up to two digits.",
        f"Its neighbours differ by {frame.neighbours()}, and leave every D_i and A unchanged.",
        *sentences,
        "D_i and A are not published, but the figure and the spread of the draws depend on them.",
        "Not charged to any ledger: it is no differential privacy, and adds up with nothing.",
        f"Public, fixed and not protected: {'; '.join(frame.items())}.",
        *_ending(rng, exact=False),
    ]
    return Guarantee(
        event=event,
        text=" ".join(parts),
        public=frame.items(),
        invariants=invariants,
        sampler="idealised",
        randomness=rng.description,
        secure=rng.secure,
    )


def _ending(rng: BitSource, exact: bool) -> list[str]:
    parts = [] if exact else [IDEALISED]
    parts.append("Running time is not protected.")
    parts.append(f"Noise from {rng.description}; the claim assumes that generator.")
    if not rng.secure:
        parts.append("Fixed seed: NOT PRIVATE.")
    return parts
