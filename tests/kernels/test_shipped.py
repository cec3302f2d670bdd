"""The LLVM code that comes with the library: of these sources, for every LLVM, and what happens without it."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from cold_processes import run

import tape
from tape import ship
from tape.jit.emission.function_of_words import entry
from tape.jit.machine import shipped
from tape.jit.machine.frames import KERNEL, address_of
from tape.jit.machine.kept import sources

LITERAL = ast.Constant, ast.Tuple, ast.BinOp, ast.BitOr, ast.Load
CODE = ship.shipped_code()
JIT = Path(tape.__file__).parent / "jit"


def test_the_archive_is_of_these_sources():
    assert shipped.shipped("linked.copy"), "run: python -m tape.ship"


def test_every_function_is_in_it():
    assert set(CODE) == {name for name, _ in ship.functions()}


@pytest.mark.parametrize("name", CODE)
def test_it_speaks_of_no_machine_and_needs_nothing(name):
    text = CODE[name]
    assert not re.search(r"^target |\b[Nn]umba|PyE|<\d+ x |captures|memory\(", text, re.MULTILINE)
    assert all("@llvm." in line for line in re.findall(r"^declare.*", text, re.MULTILINE))
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    assert [f.name for f in parsed.functions if f.name == "kernel"] == ["kernel"]


def test_it_reads_nothing_that_differs_between_versions_of_python():
    """It is made by one of them: a number that another one has elsewhere has to be read from the state."""
    tree = ast.parse((JIT / "machine" / "object_layout.py").read_text("utf-8"))
    names = {
        name.id for node in tree.body if isinstance(node, ast.Assign)
        for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
        if all(isinstance(part, LITERAL) for part in ast.walk(node.value))
    }  # fmt: skip
    imported = [
        name.name for file in (JIT / "sweeps").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
        if node.module == "machine.object_layout" for name in node.names
    ]  # fmt: skip
    assert len(set(imported)) > 5
    assert set(imported) <= names


def test_python_gives_as_many_words_as_a_function_takes():
    """Machine code would read what lies there."""
    calls = [
        c
        for file in JIT.rglob("*.py")
        for c in re.findall(r'\bentry\("(\w+)", "(\w+)", (\d+)\)', file.read_text("utf-8"))
    ]
    assert len(calls) >= 10
    for module, function, words in calls:
        taken = getattr(import_module(f"tape.jit.sweeps.{module}"), function).__code__.co_argcount
        assert taken == int(words), function


def test_what_is_no_whole_number_never_reaches_machine_code():
    lower = entry("lower", "lower", 1)
    for wrong, error in (("here", TypeError), (1.5, TypeError), (None, TypeError), (1 << 64, OverflowError)):
        with pytest.raises(error):
            lower(wrong)
    assert lower() is lower(0, 0) is NotImplemented


@pytest.fixture(params=["none", "damaged", "of other sources", "in a language of tomorrow"])
def unusable(request, monkeypatch, tmp_path):
    """An archive that cannot be used, and an empty folder for machine code."""
    archive = tmp_path / "shipped.zip"
    if request.param == "damaged":
        archive.write_bytes(shipped.ARCHIVE.read_bytes()[:1000])
    elif request.param != "none":
        of = "0" * 64 if request.param == "of other sources" else sources()
        ship.write(archive, of, dict.fromkeys(CODE, "define i65535 @kernel(tomorrow %x)"))
    monkeypatch.setattr(shipped, "ARCHIVE", archive)
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path / "kernels"))


def test_without_it_numba_does_the_work(unusable):
    kept, address = shipped.kernel.__wrapped__("strided", "fill")
    out, pattern = np.zeros(5), np.array(2.5)
    words = np.array([out.nbytes, address_of(out), pattern.view(np.int64)[()]], dtype=np.int64)
    KERNEL(address)(address_of(words))
    assert out.tolist() == [2.5] * 5
    del kept


SAME = """
import sys
import numpy as np, tape
{before}
def f(x):
    y = np.zeros(6)
    y[1:] = x[:-1] * x[::-1][1:]
    return np.cumsum(y @ np.outer(y, x)).max() + np.linalg.solve(np.outer(x, x) + np.eye(6), y)[2] + x[[1, 1, 4]].sum()
x = np.linspace(-0.5, 1.3, 6)
print(tape.compile(tape.func.grad(f))(x).tolist(), tape.func.grad(f)(x).tolist())
print("numba" in sys.modules)
"""


def test_it_does_the_same_as_what_numba_makes_here(tmp_path):
    absent = "from pathlib import Path; import tape.jit.machine.shipped as s; s.ARCHIVE = Path('absent')"
    ours, theirs = (run(SAME.format(before=b), tmp_path / b[:4]).splitlines() for b in ("", absent))
    assert ours == [theirs[0], "False"]
    assert theirs[1] == "True"
