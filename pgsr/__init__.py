"""Private, consistent, provably optimal hierarchical statistics.

`import pgsr` is light: the names below are loaded on first use, and no heavy library with them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pgsr.counts import GroupSizes as GroupSizes
    from pgsr.errors import BudgetError as BudgetError
    from pgsr.errors import InputError as InputError
    from pgsr.errors import PgsrError as PgsrError
    from pgsr.errors import SolverFault as SolverFault
    from pgsr.groupsizes.budget import LevelBudget as LevelBudget
    from pgsr.groupsizes.cumulative import CumulativeMechanism as CumulativeMechanism
    from pgsr.groupsizes.hierarchical import HierarchicalMechanism as HierarchicalMechanism
    from pgsr.hierarchy import Hierarchy as Hierarchy
    from pgsr.ledger import Ledger as Ledger
    from pgsr.mechanism import Release as Release
    from pgsr.mechanism import release as release
    from pgsr.noise import SeededBits as SeededBits
    from pgsr.noise import SystemBits as SystemBits

_HOMES = {
    "BudgetError": "pgsr.errors",
    "CumulativeMechanism": "pgsr.groupsizes.cumulative",
    "GroupSizes": "pgsr.counts",
    "HierarchicalMechanism": "pgsr.groupsizes.hierarchical",
    "Hierarchy": "pgsr.hierarchy",
    "InputError": "pgsr.errors",
    "Ledger": "pgsr.ledger",
    "LevelBudget": "pgsr.groupsizes.budget",
    "PgsrError": "pgsr.errors",
    "Release": "pgsr.mechanism",
    "SeededBits": "pgsr.noise",
    "SolverFault": "pgsr.errors",
    "SystemBits": "pgsr.noise",
    "release": "pgsr.mechanism",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pgsr' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(_HOMES)
