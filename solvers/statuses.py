"""One table of what every back end calls its outcomes, and what that means here."""

from __future__ import annotations

from pgsr.solvers.base import Termination

_OPTIMAL, _INFEASIBLE, _UNBOUNDED = Termination.OPTIMAL, Termination.INFEASIBLE, Termination.UNBOUNDED
_TIME, _OTHER = Termination.TIME_LIMIT, Termination.OTHER_LIMIT
_NUMERICAL, _UNKNOWN = Termination.NUMERICAL, Termination.UNKNOWN

TABLE: dict[str, dict[str, Termination]] = {
    # highspy.HighsModelStatus
    "highs": {
        "kOptimal": _OPTIMAL,
        "kInfeasible": _INFEASIBLE,
        "kUnbounded": _UNBOUNDED,
        "kUnboundedOrInfeasible": _UNKNOWN,
        "kTimeLimit": _TIME,
        "kIterationLimit": _OTHER,
        "kSolutionLimit": _OTHER,
        "kMemoryLimit": _OTHER,
        "kObjectiveBound": _OTHER,
        "kObjectiveTarget": _OTHER,
        "kInterrupt": _OTHER,
        "kHighsInterrupt": _OTHER,
        "kSolveError": _NUMERICAL,
        "kPresolveError": _NUMERICAL,
        "kPostsolveError": _NUMERICAL,
        "kModelError": _NUMERICAL,
        "kLoadError": _NUMERICAL,
        "kModelEmpty": _OPTIMAL,
        "kNotset": _UNKNOWN,
        "kUnknown": _UNKNOWN,
    },
    # pyomo.contrib.solver.common.results.TerminationCondition
    "pyomo": {
        "convergenceCriteriaSatisfied": _OPTIMAL,
        "provenInfeasible": _INFEASIBLE,
        "unbounded": _UNBOUNDED,
        "infeasibleOrUnbounded": _UNKNOWN,
        "locallyInfeasible": _UNKNOWN,
        "maxTimeLimit": _TIME,
        "iterationLimit": _OTHER,
        "objectiveLimit": _OTHER,
        "minStepLength": _NUMERICAL,
        "error": _NUMERICAL,
        "interrupted": _OTHER,
        "licensingProblems": _OTHER,
        "emptyModel": _OPTIMAL,
        "unknown": _UNKNOWN,
    },
    # what getStatus of a pyscipopt model says
    "scip": {
        "optimal": _OPTIMAL,
        "infeasible": _INFEASIBLE,
        "unbounded": _UNBOUNDED,
        "inforunbd": _UNKNOWN,
        "timelimit": _TIME,
        "gaplimit": _OPTIMAL,  # within the gap that was asked for
        "primallimit": _OTHER,
        "duallimit": _OTHER,
        "memlimit": _OTHER,
        "nodelimit": _OTHER,
        "totalnodelimit": _OTHER,
        "stallnodelimit": _OTHER,
        "sollimit": _OTHER,
        "bestsollimit": _OTHER,
        "restartlimit": _OTHER,
        "userinterrupt": _OTHER,
        "terminate": _OTHER,
        "unknown": _UNKNOWN,
    },
    # ortools.sat CpSolverStatus; FEASIBLE and UNKNOWN mean that a limit was reached
    "cpsat": {
        "OPTIMAL": _OPTIMAL,
        "INFEASIBLE": _INFEASIBLE,
        "FEASIBLE": _TIME,
        "UNKNOWN": _TIME,
        "MODEL_INVALID": _NUMERICAL,
    },
    # ortools.graph SimpleMinCostFlow.Status
    "mincostflow": {
        "OPTIMAL": _OPTIMAL,
        "FEASIBLE": _UNKNOWN,
        "INFEASIBLE": _INFEASIBLE,
        "UNBALANCED": _NUMERICAL,
        "BAD_RESULT": _NUMERICAL,
        "BAD_COST_RANGE": _NUMERICAL,
        "BAD_CAPACITY_RANGE": _NUMERICAL,
        "NOT_SOLVED": _UNKNOWN,
    },
    # ortools.math_opt TerminationReason; a limit comes as REASON:LIMIT
    "mathopt": {
        "OPTIMAL": _OPTIMAL,
        "INFEASIBLE": _INFEASIBLE,
        "UNBOUNDED": _UNBOUNDED,
        "INFEASIBLE_OR_UNBOUNDED": _UNKNOWN,
        "IMPRECISE": _NUMERICAL,
        "FEASIBLE": _OTHER,
        "FEASIBLE:TIME": _TIME,
        "NO_SOLUTION_FOUND": _OTHER,
        "NO_SOLUTION_FOUND:TIME": _TIME,
        "NUMERICAL_ERROR": _NUMERICAL,
        "OTHER_ERROR": _NUMERICAL,
    },
    # clarabel.SolverStatus, by way of CVXPY, whose own status merges limits and inaccuracy
    "clarabel": {
        "Solved": _OPTIMAL,
        "AlmostSolved": _NUMERICAL,
        "PrimalInfeasible": _INFEASIBLE,
        "AlmostPrimalInfeasible": _NUMERICAL,
        "DualInfeasible": _UNBOUNDED,
        "AlmostDualInfeasible": _NUMERICAL,
        "MaxIterations": _OTHER,
        "MaxTime": _TIME,
        "NumericalError": _NUMERICAL,
        "InsufficientProgress": _NUMERICAL,
        "CallbackTerminated": _OTHER,
        "Unsolved": _UNKNOWN,
    },
    # osqp's info.status, by way of CVXPY
    "osqp": {
        "solved": _OPTIMAL,
        "solved inaccurate": _NUMERICAL,
        "primal infeasible": _INFEASIBLE,
        "primal infeasible inaccurate": _NUMERICAL,
        "dual infeasible": _UNBOUNDED,
        "dual infeasible inaccurate": _NUMERICAL,
        "maximum iterations reached": _OTHER,
        "run time limit reached": _TIME,
        "problem non convex": _NUMERICAL,
        "interrupted": _OTHER,
        "unsolved": _UNKNOWN,
    },
    # scs's info["status"], by way of CVXPY
    "scs": {
        "solved": _OPTIMAL,
        "solved (inaccurate - reached max_iters)": _OTHER,
        "solved (inaccurate - reached time_limit_secs)": _TIME,
        "infeasible": _INFEASIBLE,
        "infeasible (inaccurate - reached max_iters)": _NUMERICAL,
        "infeasible (inaccurate - reached time_limit_secs)": _NUMERICAL,
        "unbounded": _UNBOUNDED,
        "unbounded (inaccurate - reached max_iters)": _NUMERICAL,
        "unbounded (inaccurate - reached time_limit_secs)": _NUMERICAL,
        "failure": _NUMERICAL,
        "indeterminate": _NUMERICAL,
        "interrupted": _OTHER,
        "unfinished": _UNKNOWN,
    },
    # piqp.Status
    "piqp": {
        "PIQP_SOLVED": _OPTIMAL,
        "PIQP_MAX_ITER_REACHED": _OTHER,
        "PIQP_PRIMAL_INFEASIBLE": _INFEASIBLE,
        "PIQP_DUAL_INFEASIBLE": _UNBOUNDED,
        "PIQP_NUMERICS": _NUMERICAL,
        "PIQP_UNSOLVED": _UNKNOWN,
        "PIQP_INVALID_SETTINGS": _NUMERICAL,
    },
    # gurobipy.GRB.Status
    "gurobi": {
        "OPTIMAL": _OPTIMAL,
        "INFEASIBLE": _INFEASIBLE,
        "INF_OR_UNBD": _UNKNOWN,
        "UNBOUNDED": _UNBOUNDED,
        "TIME_LIMIT": _TIME,
        "CUTOFF": _OTHER,
        "ITERATION_LIMIT": _OTHER,
        "NODE_LIMIT": _OTHER,
        "SOLUTION_LIMIT": _OTHER,
        "INTERRUPTED": _OTHER,
        "USER_OBJ_LIMIT": _OTHER,
        "WORK_LIMIT": _OTHER,
        "MEM_LIMIT": _OTHER,
        "SIZE_LIMIT_EXCEEDED": _OTHER,
        "SUBOPTIMAL": _NUMERICAL,
        "NUMERIC": _NUMERICAL,
        "LOADED": _UNKNOWN,
        "INPROGRESS": _UNKNOWN,
    },
}


def termination(back_end: str, raw: str) -> Termination:
    """What `raw`, a status of `back_end`, means; UNKNOWN for one that the table does not have."""
    return TABLE[back_end].get(raw, Termination.UNKNOWN)
