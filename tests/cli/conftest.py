"""Fixtures of the command-line tests: run a command in this process, and small files to give it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pgsr.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one JSON object on standard output, and nothing else there."""
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out
        return json.loads(lines[0])

    def refused(self, *words: str) -> None:
        """Exit 2, nothing on standard output, one line `what: where: way out` with these words."""
        assert (self.code, self.out) == (2, ""), self
        assert self.err.endswith("\n")
        assert len(self.err.splitlines()) == 1, self.err
        assert self.err.count(": ") >= 1, self.err
        for word in words:
            assert word in self.err, self.err


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


Make = Callable[..., dict[str, Any]]


@pytest.fixture
def instance() -> Make:
    """A small instance as a record: a root and two leaves, three sizes, ten units; keys may be changed."""

    def call(regions: list[dict[str, Any]] | None = None, **head: Any) -> dict[str, Any]:
        if regions is None:
            regions = [
                {"id": "all", "parent": None, "noisy": [3, 4, 5]},
                {"id": "01", "parent": "all", "noisy": [2, -1, 4]},
                {"id": "02", "parent": "all", "noisy": [0, 3, 1]},
            ]
        given = {"format": "pgsr-instance/1", "model": "hierarchical", "sizes": [0, 1, 2], "total": 10}
        return {**given, "regions": regions, **head}

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[dict[str, Any] | str], Path]:
    """Write an instance (or raw text) to a file."""

    def call(content: dict[str, Any] | str, name: str = "instance.json") -> Path:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return call


CONFIG = """\
[hierarchy]
file = "regions.csv"

[data]
kind = "histogram"
file = "counts.csv"

[sizes]
max = 2

[privacy]
epsilon = "1"
ledger = "ledger.jsonl"
"""


@pytest.fixture
def project(tmp_path: Path, run: Run) -> Path:
    """A folder with all that a release needs, and a ledger of epsilon 2."""
    (tmp_path / "regions.csv").write_text("region,parent\nall,\n01,all\n02,all\n", encoding="utf-8")
    (tmp_path / "counts.csv").write_text("region,0,1,2\n01,70001,80002,90003\n02,5,6,0\n", encoding="utf-8")
    (tmp_path / "release.toml").write_text(CONFIG, encoding="utf-8")
    assert run("ledger", "create", tmp_path / "ledger.jsonl", "--epsilon", "2").code == 0
    return tmp_path


@pytest.fixture
def confidential() -> tuple[str, ...]:
    """Counts of the project's data, as they would be printed: they must appear nowhere."""
    return ("70001", "80002", "90003", "70,001", "80,002", "90,003")
