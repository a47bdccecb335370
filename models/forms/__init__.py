"""The algebraic forms of a problem: matrices, piecewise-linear programs, Pyomo, CVXPY, files."""
