"""Parameters in the names of instances: `us:scale=0.001,sizes=8`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pgsr.errors import InputError

Parameters = Mapping[str, float]
"""Parameters of a name, such as `scale` and `sizes`; all but the scale are ints."""


def read_parameters(name: str, known: Collection[str]) -> dict[str, float]:
    """The parameters after the colon of `name`; InputError for those not `known`, repeated, or no numbers."""
    family, colon, text = name.partition(":")
    found: dict[str, float] = {}
    for part in text.split(",") if colon else ():
        key, equals, value = part.partition("=")
        if key not in known or not equals or key in found:
            way_out = f"'{family}' takes {', '.join(known)}" if known else f"'{family}' takes none"
            raise InputError(f"unknown parameter '{part}'", f"instance '{name}'", way_out)
        try:
            found[key] = float(value) if key == "scale" else int(value)
        except ValueError:
            raise InputError(f"'{value}' is not a number", f"instance '{name}', {key}") from None
    return found


def check_ranges(name: str, parameters: Parameters, largest: Mapping[str, float]) -> None:
    """Refuse values that are not above 0 and at most `largest`."""
    for key, value in parameters.items():
        most = largest[key]
        if not 0 < value <= most:
            way_out = f"give a number above 0, at most {most:g}" if key == "scale" else f"give 1 to {most:,}"
            raise InputError(f"{key}={value:g} is out of range", f"instance '{name}'", way_out)


def whole(parameters: Parameters, key: str, default: int, largest: int) -> int:
    """A parameter that counts something, from 1 to `largest`; InputError otherwise."""
    value = int(parameters.get(key, default))
    if not 1 <= value <= largest:
        raise InputError("out of range", f"parameter '{key}'", f"give 1 to {largest:,}")
    return value
