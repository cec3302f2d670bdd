"""How many files one has to open to follow a call, and how often to turn to another: as when written, or fewer."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from walk import Walk, named

import tape
from tape.history.propagate import behind
from tape.recording.wengert import operands

ROOT = Path(__file__).resolve().parents[2]
FILES = {"a warm backward": 8, "the first call of compile(grad(f))": 134, "gradcheck of three numbers": 14}
MOVES = {"a warm backward": 19, "the first call of compile(grad(f))": 1088, "gradcheck of three numbers": 147}


def test_the_ways_stay_short():
    """Walked in a process of their own, in which nothing has been warmed up, and nothing waits for Numba."""
    command, env = [sys.executable, "-m", "tests.house.walk"], {**os.environ, "TAPE_JIT": "0"}
    told = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    walked = {name: int(files) for name, files in re.findall(r"^(.+): (\d+) files, ", told, re.MULTILINE)}
    assert walked.keys() == FILES.keys()
    assert {name: files for name, files in walked.items() if files > FILES[name]} == {}
    moves = {name: int(count) for name, count in re.findall(r"^(.+): \d+ files, .* (\d+) moves$", told, re.MULTILINE)}
    assert {name: moves[name] for name, most in MOVES.items() if moves[name] > most} == {}
    assert re.search(r"^ops and tape: [\d,]+ lines$", told, re.MULTILINE)


def test_a_walk_counts_what_is_called():
    """The test is no file of the houses, so a call from here is no move; one from one of their files to another is."""
    y = 2.0 * tape.tensor(1.0, requires_grad=True)
    with Walk() as walk:
        operands(1, 2)
        behind({y._node})
    assert walk.functions[operands.__code__] == 1
    assert set(walk.files) >= {"tape/history/propagate.py", "tape/recording/wengert.py"}
    assert walk.ways["tape/history/propagate.py", "tape/recording/wengert.py"] >= 1
    assert named(operands.__code__) == "tape/recording/wengert.py"
