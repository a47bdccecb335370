"""Fingerprints of problems: equal ones are the same problem, byte for byte."""

from __future__ import annotations

import hashlib

import numpy as np

from pgsr.models.problem import Problem


def fingerprint(problem: Problem) -> str:
    """SHA-256, in hexadecimal, over tree, targets, weights, bounds, total, model and loss of `problem`.

    The order of regions counts, their codes do not; a problem and its relaxation have the same one.
    Arrays are hashed as 64-bit little-endian numbers, each after a line with its name and shape.
    """
    digest = hashlib.sha256(b"pgsr-problem/1\n")
    model = "cumulative" if problem.cumulative else "hierarchical"
    digest.update(f"{model} {problem.loss} total {problem.total}\n".encode("ascii"))
    for name, kind in (
        ("parent", "<i8"),
        ("target", "<i8"),
        ("weights", "<f8"),
        ("lower", "<i8"),
        ("upper", "<i8"),
    ):
        array = getattr(problem, name)
        if array is None:
            digest.update(f"{name} none\n".encode("ascii"))
            continue
        shape = " ".join(str(n) for n in array.shape)
        digest.update(f"{name} {shape}\n".encode("ascii"))
        digest.update(np.ascontiguousarray(array, dtype=kind).data)
    return digest.hexdigest()
