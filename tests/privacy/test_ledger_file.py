"""The ledger on disk: crashes, races, versions, and writing before drawing."""

import json
import os
import pickle
import subprocess
import sys
import threading
from fractions import Fraction

import pytest

from pgsr import ledgerfile
from pgsr.errors import BudgetError, InputError
from pgsr.ledger import LEDGER_FORMAT, Ledger
from pgsr.privacy import Kind, Neighbours, PrivacyEvent

TENTH = PrivacyEvent.pure("1/10")


def test_everything_is_read_back(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=3, delta="1e-6", unit="household", neighbours=Neighbours.SUBSTITUTE)
    assert Ledger.create(tmp_path / "rho", rho="1/8").kind is Kind.ZCDP
    event = PrivacyEvent.pure("1/3", unit="household")
    ledger.charge(event, label="line\nbreak é", partition=("state", "01"))
    again = Ledger.open(path)
    assert again.to_dict() == ledger.to_dict()
    assert again.entries[0].event == event
    assert again.entries[0].label == "line\nbreak é"
    assert again.spent.epsilon == Fraction(2, 3)
    assert (again.kind, again.unit, again.neighbours) == (ledger.kind, "household", Neighbours.SUBSTITUTE)
    assert pickle.loads(pickle.dumps(again)).spent == ledger.spent
    assert json.loads(path.read_text().splitlines()[0])["format"] == LEDGER_FORMAT
    assert os.listdir(tmp_path).count("ledger") == 1
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_an_existing_ledger_is_never_replaced(tmp_path):
    path = tmp_path / "ledger"
    Ledger.create(path, epsilon=1).charge(TENTH)
    before = path.read_bytes()
    with pytest.raises(InputError, match="already"):
        Ledger.create(path, epsilon=100)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["ledger"]


@pytest.mark.parametrize("figures", [{}, {"delta": "1e-6"}, {"epsilon": 1, "rho": 1}, {"epsilon": -1}])
def test_figures_that_name_no_kind_create_no_file(tmp_path, figures):
    with pytest.raises(InputError):
        Ledger.create(tmp_path / "ledger", **figures)
    assert os.listdir(tmp_path) == []


def test_a_missing_ledger_or_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no such ledger"):
        Ledger.open(tmp_path / "ledger")
    with pytest.raises(InputError, match="cannot write"):
        Ledger.create(tmp_path / "nowhere" / "ledger", epsilon=1)


def test_nothing_is_written_on_refusal(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(TENTH)
    before = path.read_bytes()
    for event in (PrivacyEvent.pure("0.91"), PrivacyEvent.zcdp("0.001"), PrivacyEvent.pure(0, unit="firm")):
        with pytest.raises(BudgetError):
            ledger.charge(event)
        with pytest.raises(BudgetError):
            ledger.check(event)
    ledger.check(PrivacyEvent.pure("0.9"))
    assert path.read_bytes() == before


def test_a_crash_at_any_byte_never_loses_a_charge_silently(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(TENTH)
    kept = path.read_bytes()
    ledger.charge(PrivacyEvent.pure("1/2"))
    whole = path.read_bytes()
    for length in range(len(kept), len(whole) + 1):
        path.write_bytes(whole[:length])
        if length == len(kept):  # nothing of the second line reached the disk
            assert Ledger.open(path).spent.epsilon == Fraction(1, 10)
        elif length < len(whole) - 1:  # torn: refused, with the way out, until the line is deleted
            with pytest.raises(InputError, match=r"torn.*line 3.*delete that last line"):
                Ledger.open(path)
            with pytest.raises(InputError, match="torn"):
                ledger.charge(TENTH)
            assert path.read_bytes() == whole[:length]
        else:  # complete, with or without its newline: it counts, and the next line is its own
            assert Ledger.open(path).spent.epsilon == Fraction(3, 5)
            ledger.charge(TENTH)
            assert Ledger.open(path).spent.epsilon == Fraction(7, 10)


def test_damage_elsewhere_and_unknown_versions_are_refused(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge([TENTH, TENTH])
    header, first, second = path.read_text().splitlines()
    damaged = {
        "empty": "",
        "not json": "\n".join([header, first[:-5], second, ""]),
        "blank line": "\n".join([header, first, "", second, ""]),
        "entry lost": "\n".join([header, second, ""]),
        "entries swapped": "\n".join([header, second, first, ""]),
        "entry key": "\n".join([header, first.replace('"label"', '"title"'), second, ""]),
        "event kind": "\n".join([header, first.replace("pure", "magic"), second, ""]),
        "negative": "\n".join([header, first.replace("1/10", "-1/10"), second, ""]),
        "other unit": "\n".join([header, first.replace("person", "firm"), second, ""]),
        "version": "\n".join([header.replace("ledger/1", "ledger/2"), first, second, ""]),
        "header key": "\n".join([header[:-1] + ', "x": 1}', first, second, ""]),
        "header kind": "\n".join([header.replace("pure", "magic"), first, second, ""]),
        "a list": "\n".join([header, "[]", ""]),
        "a deep list": "\n".join([header, "[" * 100_000, ""]),
    }
    for text in damaged.values():
        path.write_text(text)
        with pytest.raises(InputError):
            Ledger.open(path)
    path.write_bytes(b"\xff\xfe" + header.encode())
    with pytest.raises(InputError):
        Ledger.open(path)


def test_another_file_under_the_same_name_is_noticed(tmp_path):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    path.unlink()
    Ledger.create(path, epsilon=2)
    with pytest.raises(InputError, match="header has changed"):
        ledger.charge(TENTH)


def test_a_full_disk_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(TENTH)
    before = path.read_bytes()

    def half(descriptor, data):
        os.write(descriptor, data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ledgerfile, "_write_all", half)
        with pytest.raises(InputError, match="No space left"):
            ledger.charge(TENTH)
    assert path.read_bytes() == before
    ledger.charge(TENTH)
    assert Ledger.open(path).spent.epsilon == Fraction(1, 5)


def test_a_charge_is_flushed_before_it_returns(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    flushed = []
    fsync = os.fsync

    def watch(descriptor):
        flushed.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    ledger.charge(TENTH)
    assert flushed == [path.stat().st_size]


RACER = """
import sys
from pathlib import Path
from pgsr.errors import BudgetError
from pgsr.ledger import Ledger
from pgsr.privacy import PrivacyEvent
ledger = Ledger.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
done = 0
for _ in range(30):
    try:
        ledger.charge(PrivacyEvent.pure("1/40"))
        done += 1
    except BudgetError:
        pass
print(done, flush=True)
"""


def test_racing_processes_never_overspend(tmp_path):
    path = tmp_path / "ledger"
    Ledger.create(path, epsilon=1)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    done = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert all(racer.returncode == 0 for racer in racers)
    assert sum(done) == 40
    ledger = Ledger.open(path)
    assert len(ledger.entries) == 40
    assert ledger.remaining.epsilon == 0


def test_racing_threads_never_overspend():
    ledger = Ledger.pure(1)
    done = []

    def run():
        for _ in range(40):
            try:
                ledger.charge(PrivacyEvent.pure("1/40"))
                done.append(1)
            except BudgetError:
                pass

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == len(ledger.entries) == 40


HOLDER = """
import fcntl, sys
with open(sys.argv[1]) as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_a_ledger_in_use_is_waited_for_and_then_refused(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    ledger = Ledger.create(path, epsilon=1)
    before = path.read_bytes()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "locked\n"
    assert 0 < ledgerfile.LOCK_WAIT_S <= 10
    monkeypatch.setattr(ledgerfile, "LOCK_WAIT_S", 0.1)
    message = "ledger is in use by another process: .*ledger: try again when it has ended"
    for call in (lambda: ledger.charge(TENTH), lambda: ledger.entries, lambda: Ledger.open(path)):
        with pytest.raises(InputError, match=message):
            call()
    assert path.read_bytes() == before
    monkeypatch.setattr(ledgerfile, "LOCK_WAIT_S", 60)
    threading.Timer(0.2, lambda: holder.communicate("end\n", timeout=60)).start()
    ledger.charge(TENTH)
    assert len(ledger.entries) == 1
