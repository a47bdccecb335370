"""One call of HiGHS with a program in matrices: hand over, run, read back; nothing is judged here."""

from __future__ import annotations

import multiprocessing
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64
from pgsr.solvers.adapters.adapter import Recorder
from pgsr.solvers.base import SolveOptions

_LISTEN_S = 0.1
_PATIENCE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HighsAnswer:
    """What HiGHS said: status name, point (n,), duals of the rows (m,), bound without the constant.

    `z` is None unless HiGHS states that it has a primal solution: after an error its arrays are zeros.
    """

    status: str
    z: Float64 | None
    duals: Float64 | None
    bound: float | None
    iterations: int


def call_highs(
    program: Program,
    options: SolveOptions,
    recorder: Recorder,
    *,
    seconds: float | None,
    start: Float64 | None = None,
    settings: dict[str, Any] | None = None,
    partial: bool = False,
) -> HighsAnswer:
    """Run HiGHS on `program` for at most `seconds`; `start` (n,) is a point to begin a search with.

    Gaps are set to `options.gap`: the defaults stop 1e-4 away from a proof. The recorder hears of points and
    bounds; of points alone if the program is `partial`, one that leaves tables out and so bounds only itself.
    """
    if program.columns == 0:
        return without_columns(program)
    import highspy

    highs = make_highs(program, options, seconds, settings)
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start
        highs.setSolution(point)
    whole = bool(program.integer.any())
    if whole:
        _watch(highs, program, recorder, partial=partial)
    run_highs(highs)
    return read_answer(highs, program, whole=whole)


def run_highs(highs: Any) -> None:
    """Run `highs`; where Ctrl-C is to be heard, in a thread that is stopped before the interrupt goes on.

    A process of its own is killed instead, and other threads never see an interrupt.
    """
    listening = threading.current_thread() is threading.main_thread()
    if multiprocessing.parent_process() is not None or not listening:
        highs.run()
        return
    highs.HandleUserInterrupt = True
    working = highs.startSolve()
    try:
        while not highs.wait(_LISTEN_S)[0]:
            pass
    except BaseException:
        highs.cancelSolve()
        working.join(_PATIENCE_S)
        raise


def without_columns(program: Program) -> HighsAnswer:
    """The answer to a program without columns: its one point, if the rows allow it."""
    if np.any(program.row_lower > 0) or np.any(program.row_upper < 0):
        return HighsAnswer(status="kInfeasible", z=None, duals=None, bound=None, iterations=0)
    none, flat = np.zeros(0), np.zeros(program.rows)
    return HighsAnswer(status="kModelEmpty", z=none, duals=flat, bound=0.0, iterations=0)


def read_answer(highs: Any, program: Program, *, whole: bool) -> HighsAnswer:
    """What `highs` says after a run; `whole`: some columns are integer."""
    import highspy

    info, answer = highs.getInfo(), highs.getSolution()
    has_point = (
        int(info.primal_solution_status) != int(highspy.SolutionStatus.kSolutionStatusNone)
        and answer.value_valid
    )
    z = np.array(answer.col_value, dtype=np.float64) if has_point else None
    duals = np.array(answer.row_dual, dtype=np.float64) if has_point and answer.dual_valid else None
    bound = float(info.mip_dual_bound) - program.constant if whole else None
    status = str(highs.getModelStatus()).rpartition(".")[2]
    if bound is None and status == "kOptimal" and z is not None:
        bound = float(info.objective_function_value) - program.constant
    iterations = max(int(info.simplex_iteration_count), int(info.ipm_iteration_count), 0)
    return HighsAnswer(status=status, z=z, duals=duals, bound=bound, iterations=iterations)


def silent_highs() -> Any:
    """A HiGHS object that prints nothing; its own constructor prints a line before it can be told."""
    import highspy

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802 - the constructor calls it, and it prints
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    return Silent()  # type: ignore[no-untyped-call]  # its stubs leave it untyped


def make_highs(
    program: Program, options: SolveOptions, seconds: float | None, settings: dict[str, Any] | None = None
) -> Any:
    """A HiGHS object that holds `program` and the options; ValueError if it does not take them."""
    import highspy

    highs = silent_highs()
    chosen: dict[str, Any] = {
        "output_flag": options.verbose,
        "random_seed": options.seed % 2**31,
        "threads": options.threads,
        "mip_rel_gap": options.gap,
        "mip_abs_gap": 0.0,
        **(settings or {}),
    }
    if options.threads:
        # HiGHS keeps one pool of threads a process, with the size of the first call.
        highs.resetGlobalScheduler(True)
    if seconds is not None:
        chosen["time_limit"] = seconds
    for name, value in chosen.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS does not take the option {name}={value}")
    if highs.passModel(_model(program)) == highspy.HighsStatus.kError:
        raise ValueError("HiGHS does not take the model")
    return highs


def _model(program: Program) -> Any:
    """The program as HiGHS takes it, in one piece."""
    import highspy

    linear = highspy.HighsLp()
    linear.num_col_, linear.num_row_ = program.columns, program.rows
    linear.col_cost_ = program.linear
    linear.offset_ = program.constant  # relative gaps are relative to the objective as it is
    linear.col_lower_, linear.col_upper_ = program.lower, program.upper
    linear.row_lower_, linear.row_upper_ = program.row_lower, program.row_upper
    linear.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    linear.a_matrix_.start_ = program.matrix.indptr
    linear.a_matrix_.index_ = program.matrix.indices
    linear.a_matrix_.value_ = program.matrix.data
    if program.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        linear.integrality_ = [kinds[whole] for whole in program.integer.tolist()]
    if not program.quadratic_objective:
        return linear
    # HiGHS minimises 1/2 z'Qz, and wants the lower triangle by columns.
    model = highspy.HighsModel()
    model.lp_ = linear
    squared = np.flatnonzero(program.quadratic)
    model.hessian_.dim_ = program.columns
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.searchsorted(squared, np.arange(program.columns + 1)).astype(np.int32)
    model.hessian_.index_ = squared.astype(np.int32)
    model.hessian_.value_ = 2.0 * program.quadratic[squared]
    return model


def _watch(highs: Any, program: Program, recorder: Recorder, *, partial: bool) -> None:
    """Have the search tell the recorder of better points and, unless the program is `partial`, of bounds."""

    def better(event: Any) -> None:
        point: NDArray[Any] = np.array(event.data_out.mip_solution)
        recorder.found(program.whole_table(point))
        if not partial:
            recorder.bounded(event.data_out.mip_dual_bound)

    highs.cbMipImprovingSolution += better
