"""What only a process of its own shows: start-up, streams, signals, terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PGSR = [sys.executable, "-m", "pgsr.cli.main"]
HEAVY = {"numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "networkx", "cryptography"}


@pytest.fixture
def env() -> dict[str, str]:
    return {**os.environ, "PYTHONSAFEPATH": "1"}


def call(env, *words, **options):
    return subprocess.run(
        [*PGSR, *map(str, words)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def test_help_loads_nothing_heavy(env) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pgsr.cli.main", "--help"],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert loaded & HEAVY == set()
    assert "solve" in done.stdout


def test_streams_and_exit_codes(env, tmp_path, write, instance) -> None:
    path = write(instance())
    done = call(env, "solve", path, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["certificate"] is True
    assert done.stdout.count("\n") == 1
    done = call(env, "solve", path, "--time-limit", "1e-9", "--json")
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert json.loads(done.stdout)["point_status"] == "none"
    done = call(env, "solve", tmp_path / "nowhere.json", "--json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_reader_that_leaves_is_no_fault(env, write, instance) -> None:
    with subprocess.Popen(
        [*PGSR, "solve", str(write(instance()))], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_said_in_one_line(env, write, instance) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*PGSR, "solve", str(write(instance()))],
            env=env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "No space left" in done.stderr
    assert "standard output" in done.stderr


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An instance that takes a second or more to solve."""
    path = tmp_path_factory.mktemp("larger") / "instance"
    words = ["generate", "us", "--scale", "0.05", "--out", str(path)]
    subprocess.run([*PGSR, *words], env={**os.environ, "PYTHONSAFEPATH": "1"}, check=True, timeout=120)
    return path


def default_signals() -> None:
    """Undo what a background shell may have set: it ignores SIGINT for its jobs."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_a_solve_and_leaves_nothing(env, larger, tmp_path, number, code, word) -> None:
    process = subprocess.Popen(
        [*PGSR, "solve", str(larger), "--out", "solution.parquet"],
        env=env,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_signals,  # noqa: PLW1509 (no threads run here)
    )
    time.sleep(1.5)
    assert process.poll() is None, process.communicate()
    sent = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < 10  # about one second on a machine of its own
    assert (process.returncode, out, err.count("\n")) == (code, "", 1)
    assert err.startswith(f"{word}: pgsr solve")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_after_a_command_is_complete_changes_nothing(env, tmp_path) -> None:
    """The slow end of the process stands for all that Python does once a release is written."""
    (tmp_path / "slow.py").write_text(
        "import atexit, sys, time\n"
        "def slow():\n"
        "    print('ending', flush=True)\n"
        "    time.sleep(2)\n"
        "atexit.register(slow)\n"
        "from pgsr.cli.main import main\n"
        "sys.argv = ['pgsr', *sys.argv[1:]]\n"
        "sys.exit(main())\n",
        encoding="utf-8",
    )
    for words, number, code in (
        (["--version"], signal.SIGINT, 0),
        (["check", "nowhere"], signal.SIGINT, 2),
        (["--version"], signal.SIGTERM, -signal.SIGTERM),
    ):
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "slow.py"), *words],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,  # noqa: PLW1509 (no threads run here)
        )
        assert process.stdout is not None
        while process.stdout.readline() != "ending\n":
            assert process.poll() is None
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == code, err
        assert "Traceback" not in err


def test_progress_is_shown_on_a_terminal_and_standard_output_stays_clean(env, larger) -> None:
    main, other = pty.openpty()
    process = subprocess.Popen(
        [*PGSR, "solve", str(larger), "--json"],
        env={**env, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=other,
    )
    os.close(other)
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # Linux: the other end has closed
            break
        if not part:
            break
        shown += part
    out, _ = process.communicate(timeout=60)
    os.close(main)
    assert process.returncode == 0
    assert json.loads(out)["certificate"] is True
    assert b"read" in shown
    assert b"%" in shown


def shell(env, folder, text):
    """A command in a shell, for streams that are closed or full; `pgsr` is our program."""
    line = text.replace("pgsr", " ".join(PGSR))
    return subprocess.run(
        ["sh", "-c", line],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
@pytest.mark.parametrize("words", ["", "--json"])
def test_a_failing_standard_output_does_not_hide_a_release(env, project, where, words) -> None:
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    done = shell(env, project, f"pgsr release release.toml --out out {words} {where}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert "standard output" in done.stderr
    assert "the release is complete: it is written to out, and ledger.jsonl is charged" in done.stderr
    assert (project / "out" / "counts.csv").is_file()
    assert not (project / "out.measured").exists()
    assert len((project / "ledger.jsonl").read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize(
    "words", ["--help", "--version", "solvers", "solve instance.json", "ledger show ledger.jsonl", "ledger"]
)
def test_closed_streams_are_no_fault(env, project, write, instance, words) -> None:
    write(instance())
    for where in (">&-", ">/dev/full"):
        done = shell(env, project, f"pgsr {words} {where}")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
        assert "standard output" in done.stderr
    done = shell(env, project, f"pgsr {words} 2>&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(("module", "command"), [("typer", "pgsr"), ("numpy", "pgsr solvers")])
def test_a_signal_while_something_is_loaded_is_one_line(env, tmp_path, module, command) -> None:
    """From the moment that `main` runs; the slow import stands for any of those that it makes."""
    for number, code, word in ((signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")):
        (tmp_path / "slow.py").write_text(
            "import sys, time\n"
            "class Slow:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name == '{module}':\n"
            "            print('loading', flush=True)\n"
            "            time.sleep(60)\n"
            "sys.meta_path.insert(0, Slow())\n"
            "from pgsr.cli.main import main\n"
            "sys.exit(main(['solvers']))\n",
            encoding="utf-8",
        )
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / "slow.py")],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,  # noqa: PLW1509 (no threads run here)
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "loading\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (code, f"{word}: {command}: nothing was left half-written\n")
