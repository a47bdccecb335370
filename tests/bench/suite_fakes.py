"""Solvers that misbehave on all but tiny problems, registered like anybody's; for the suite tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pgsr.models.problem import Feature
from pgsr.solvers.base import Availability, Termination
from pgsr.solvers.certificate import assess


class Fake:
    features = frozenset(Feature)

    def availability(self):
        return Availability(available=True)

    def version(self):
        return "0"

    def check(self, problem):
        pass

    def solve(self, problem, options):
        if problem.regions > 3:
            self.misbehave(problem)
        return assess(
            problem,
            np.maximum(problem.target, 0),
            solver=self.name,
            version="0",
            termination=Termination.OPTIMAL,
            raw_status="optimal",
            build_s=0.0,
            solve_s=0.0,
            claimed_bound=None,
            options=options,
        )

    def misbehave(self, problem):
        pass


class Sleeper(Fake):
    """Pays no heed to its limit, and starts a process that leaves its group."""

    name = "sleeper"

    def misbehave(self, problem):
        words = [sys.executable, "-c", "import time; time.sleep(600)"]
        child = subprocess.Popen(words, start_new_session=True)
        Path(os.environ["FAKE_PID"]).write_text(str(child.pid), encoding="ascii")
        time.sleep(600)


class Hog(Fake):
    """Takes memory until it is stopped; the process that it starts does it."""

    name = "hog"

    def misbehave(self, problem):
        code = "import time\nx = []\nwhile True:\n    x.append(bytearray(b'1') * 2**25)\n    time.sleep(0.01)"
        subprocess.run([sys.executable, "-c", code], check=False)


class Crasher(Fake):
    name = "crasher"

    def misbehave(self, problem):
        os.abort()


class Quitter(Fake):
    name = "quitter"

    def misbehave(self, problem):
        sys.stderr.write("no licence today\n")
        os._exit(7)


class Thrower(Fake):
    name = "thrower"

    def misbehave(self, problem):
        raise RuntimeError("out of luck")


class Liar(Fake):
    """Claims that a table that does not add up is optimal."""

    name = "liar"


class Absent(Fake):
    name = "absent"

    def availability(self):
        return Availability(available=False, reason="pip install absent")
