"""The optimisation problems: what is optimised, on arrays, whatever solves it."""
