"""`pgsr solvers`: which solvers are installed, and what each one takes."""

from __future__ import annotations

from typing import Any

from pgsr.cli.options import Json
from pgsr.cli.output import emit, line, pairs


def solvers(as_json: Json = False) -> None:
    """List the solvers, what they take, and why one is not available."""
    from pgsr.solvers import registry

    found = [_describe(name) for name in registry.names()]
    if as_json:
        emit({"solvers": found})
        return
    for entry in found:
        state = entry["version"] if entry["available"] else f"not available: {entry['reason']}"
        kind = " (heuristic)" if entry["heuristic"] else ""
        line(f"{entry['name']}{kind} {state}", style="bold" if entry["available"] else "dim")
        if entry["features"]:
            pairs({" ": ", ".join(entry["features"])})


def _describe(name: str) -> dict[str, Any]:
    """One entry of the list; a solver that cannot be loaded is one that is not available."""
    from pgsr.errors import SolverFault
    from pgsr.solvers import registry

    try:
        solver = registry.get(name)
        state = solver.availability()
        version = solver.version() if state.available else ""
    except SolverFault as error:
        return {
            "name": name,
            "available": False,
            "reason": str(error),
            "version": "",
            "features": [],
            "heuristic": False,
            "scale": 0,
        }
    features = sorted(feature.value for feature in solver.features)
    return {
        "name": name,
        "available": state.available,
        "reason": state.reason,
        "version": version,
        "features": features,
        "heuristic": bool(getattr(solver, "heuristic", False)),
        "scale": int(getattr(solver, "scale", 0)),
    }
