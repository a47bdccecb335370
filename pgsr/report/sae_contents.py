"""What a folder of each kind of small area release holds: its tables and their columns, and no others."""

from __future__ import annotations

from dataclasses import dataclass

from pgsr.mechanism import Release

CONDITIONAL_DRAW, NOISY_DIRECT = "sae-conditional-draw", "sae-noisy-direct"
THREE_STAGES = "sae-three-stage-draw"

KINDS = {
    "sae-joint-draw": ("joint", "public"),
    "sae-marginals-draw": ("marginals", "public"),
    THREE_STAGES: ("joint", "dp"),
    NOISY_DIRECT: ("noisy-direct", "public"),
    CONDITIONAL_DRAW: ("joint", "invariant"),
}
"""Kind of release and origin of variances by mechanism."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns that a table must have, and those that it may have; `csv`: written as CSV too."""

    always: frozenset[str]
    perhaps: frozenset[str] = frozenset()
    csv: bool = False

    @property
    def all(self) -> set[str]:
        """Both."""
        return set(self.always | self.perhaps)

    def fit(self, names: set[str]) -> bool:
        """Whether a table with columns `names` is as it should be."""
        return self.always <= names <= self.all


_ESTIMATE = frozenset({"area", "estimate"})
_INTERVAL = _ESTIMATE | {"sd", "lower", "upper"}
_AGAIN = frozenset({"reshrunk", "reshrunk_sd"})
_DRAWS = Columns(always=frozenset({"area", "draw", "value"}))


def contents(made: Release) -> dict[str, Columns]:
    """The tables that a release of this mechanism with these parameters has, all of them."""
    mechanism, given = made.provenance.mechanism, made.provenance.parameters
    again = _AGAIN if given.get("reshrink") is True else frozenset[str]()
    if mechanism == CONDITIONAL_DRAW:
        return {"areas": Columns(always=_ESTIMATE, csv=True), "draws": _DRAWS}
    if mechanism == NOISY_DIRECT:
        smoothed = frozenset() if given.get("variance_sha256") is not None else frozenset({"proportion"})
        return {
            "areas": Columns(always=_INTERVAL | {"variance"}, csv=True),
            "model": Columns(always=frozenset({"model_variance"}) | smoothed, csv=True),
            "noisy": Columns(always=frozenset({"area", "point", "step", "value", "noise_sd"})),
        }
    if mechanism == THREE_STAGES:
        stages = {"proportion", "proportion_clamped", "clipped_square"}
        stages |= {"model_variance", "model_variance_upper"}
        return {
            # Nothing is shrunk again where the private model variance came out as 0.
            "areas": Columns(always=_INTERVAL | {"variance", "floored"}, perhaps=again, csv=True),
            "stages": Columns(always=frozenset(stages)),
            "coefficients": Columns(always=frozenset({"covariate", "value"})),
            "draws": _DRAWS,
        }
    return {"areas": Columns(always=_INTERVAL | again, csv=True), "draws": _DRAWS}


def dtype_kind(column: str) -> str:
    """The kind of numpy type of a column: text, whole numbers, booleans, or floats."""
    kinds = {"area": "T", "covariate": "T", "step": "T", "draw": "i", "point": "i", "floored": "b"}
    return kinds.get(column, "f")
