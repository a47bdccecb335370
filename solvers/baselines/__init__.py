"""Methods that others published or use, by name, so that their tables can be compared with exact ones.

None of them claims an optimum: they end with `unknown` and `heuristic`, and what they returned is
recomputed from the problem like anybody's point.
"""
