"""`mincostflow`: Model 1 with integers as a flow of least cost, by OR-Tools' cost-scaling push-relabel.

Units flow from a source through the regions, size by size, to a sink behind the leaves: one bundle of
parallel arcs an entry, unit by unit, whose costs increase (convexity), so that they fill in order.
[Fioretto2021] Model 1; Ahuja, Magnanti, Orlin (1993), Network Flows, 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.levelorder import sum_children
from pgsr.models.domains import domains
from pgsr.models.forms.piecewise import Windows, ranks
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.integer_costs import integer_weights, largest_steps, refuse_large, step_costs
from pgsr.solvers.adapters.segments import FEW, REACH, charged_in_full, first_windows
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination


class MinCostFlowSolver(Adapter):
    """OR-Tools' `SimpleMinCostFlow`. One call cannot be interrupted: limits are checked between calls."""

    name = "mincostflow"
    package = "ortools"
    modules = ("ortools",)
    scale = 500_000
    most_entries = 20_000_000
    features = frozenset(
        {Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2, Feature.L1, Feature.WEIGHTS, Feature.BOUNDS}
    )

    def check(self, problem: Problem) -> None:
        """Refuse weights that are not dyadic, and costs or sums of units that leave 64 bits.

        OR-Tools multiplies costs by the number of nodes and sums them along paths. RegionError names the
        region whose weight or cost is at fault.
        """
        super().check(problem)
        if problem.total * problem.target.size >= 2**60:
            raise InputError(
                f"{problem.target.size} entries of up to {problem.total} units leave 64-bit integers",
                f"solver {self.name}",
                "use proximity",
            )
        weights, _ = integer_weights(problem)
        nodes = int(problem.inner().sum()) * problem.width + 5
        depth = problem.level_start.size
        limit = 2.0**62 / (nodes * (2 * depth + 2))
        refuse_large(self.name, largest_steps(problem, weights, *domains(problem)), limit)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Flows in windows round the relaxation, recentred until the windows exclude nothing that matters."""
        watch = Stopwatch()
        weights, unit = integer_weights(problem)
        windows, _ = first_windows(problem, options, FEW)
        network = flow_network(problem, weights, windows)
        build_s = watch.seconds()
        if options.seconds_left() == 0:
            return out_of_time(build_s)
        recorder.start()
        watch = Stopwatch()
        rounds, reach, x = 0, REACH, None
        while True:
            rounds += 1
            status, flows = _solve(network)
            kind, bound, exact = termination("mincostflow", status), None, True
            if flows is not None:
                x = network.table(windows, flows)
                exact = charged_in_full(problem, windows, x)
                bound = float(problem.objective(x)) if exact else network.value(problem, windows, flows, unit)
                recorder.found(x)
                recorder.bounded(bound)
            if exact or recorder.seconds_left() == 0:
                if not exact:
                    status, kind = "time limit between two rounds", Termination.TIME_LIMIT
                return Outcome(
                    termination=kind,
                    raw_status=status,
                    x=x,
                    build_s=build_s,
                    solve_s=watch.seconds(),
                    bound=bound,
                    details={"arcs": int(network.cost.size), "nodes": network.sink + 1, "rounds": rounds},
                )
            assert x is not None
            reach *= 2
            windows = windows.recentred(x, reach)
            network = flow_network(problem, weights, windows)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """Arcs (n,) with `tail`, `head`, `capacity`, integer `cost`; `supply` (m,) at nodes, the last the `sink`.

    A unit on arc j moves the entry `place[j]` (`region * N + size`) by `step[j]` (1 or -1).
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    capacity: Int64
    cost: Int64
    supply: Int64
    place: Int64
    step: Int64
    sink: int

    def table(self, windows: Windows, flows: Int64) -> Int64:
        """The table (R, N) that `flows` (n,) stand for."""
        moved = np.zeros(windows.low.size, dtype=np.int64)
        np.add.at(moved, self.place, self.step * flows)
        return windows.low + moved.reshape(windows.low.shape)

    def value(self, problem: Problem, windows: Windows, flows: Int64, unit: float) -> float:
        """The cost of `flows`, which bounds the problem's optimum from below if they are optimal."""
        moved = np.sum(self.cost.astype(np.longdouble) * flows)
        return float(np.longdouble(problem.objective(windows.low)) + np.longdouble(unit) * moved)


def flow_network(problem: Problem, weights: Int64, windows: Windows) -> Network:
    """The network of the problem with what flows at the low ends of the windows taken as given.

    Unit arcs inside the windows; one arc each way outside, at the cost of the first step there, which is at
    most that of all further ones.
    """
    width, inner = problem.width, problem.inner()
    first = 1 + width * (np.cumsum(inner) - 1)  # the node of each inner region's first size
    sink = 1 + width * int(inner.sum())
    sizes = np.arange(width)
    ends = np.zeros((2, *problem.target.shape), dtype=np.int32)
    ends[0, 1:] = first[problem.parent[1:]][:, None] + sizes
    ends[1] = sink
    ends[1, inner] = first[inner][:, None] + sizes
    above, below = ends.reshape(2, -1)

    low, high = windows.low.ravel(), windows.high.ravel()
    count = high - low
    place = np.repeat(np.arange(low.size), count)
    rank = ranks(count)
    down, up = (np.flatnonzero(mask.ravel()) for mask in windows.artificial())
    room = np.concatenate(
        [(windows.low - windows.domain_low).ravel()[down], (windows.domain_high - windows.high).ravel()[up]]
    )

    supply = np.zeros(sink + 1, dtype=np.int64)
    supply[0] = problem.total - windows.low[0].sum()
    children = sum_children(problem.child_start, windows.low, 0, problem.regions)
    supply[1:sink] = (windows.low - children)[inner].ravel()
    supply[sink] = windows.low[~inner].sum() - problem.total
    return Network(
        tail=np.concatenate([above[place], below[down], above[up]]),
        head=np.concatenate([below[place], above[down], below[up]]),
        capacity=np.concatenate([np.ones(place.size, dtype=np.int64), room]),
        cost=np.concatenate(
            [
                step_costs(problem, weights, place, low[place] + rank),
                -step_costs(problem, weights, down, low[down] - 1),
                step_costs(problem, weights, up, high[up]),
            ]
        ),
        supply=supply,
        place=np.concatenate([place, down, up]),
        step=np.concatenate([np.ones(place.size), -np.ones(down.size), np.ones(up.size)]).astype(np.int64),
        sink=sink,
    )


def _solve(network: Network) -> tuple[str, Int64 | None]:
    """OR-Tools' status and, if that is OPTIMAL, the flow of every arc."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    back_end: Any = SimpleMinCostFlow()
    nodes = np.arange(network.sink + 1, dtype=np.int32)
    back_end.set_nodes_supplies(nodes, network.supply)
    arcs = np.arange(network.cost.size, dtype=np.int32)
    if arcs.size:
        back_end.add_arcs_with_capacity_and_unit_cost(
            network.tail, network.head, network.capacity, network.cost
        )
    status = str(back_end.solve().name)
    if status != "OPTIMAL":  # its arrays are zeros then, or end the process
        return status, None
    return status, np.asarray(back_end.flows(arcs), dtype=np.int64)
