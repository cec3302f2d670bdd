"""What importing costs, and what is found on disk the second time."""

from __future__ import annotations

import shutil
import subprocess
import sys

from cold_processes import GRADIENT, ROOT, run


def content(caches):
    return {p: p.stat().st_mtime_ns for p in caches.rglob("*") if p.is_file()}


def test_importing_is_light():
    heavy = ["numba", "llvmlite", "scipy", "click", "rich", "torch", "pandas", "matplotlib"]
    program = f"import sys, tape; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_recording_needs_no_compiler():
    program = "import sys, tape; x = tape.ones(3, requires_grad=True); y = (x * x).sum(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"


def test_a_second_process_compiles_nothing(warm):
    before = content(warm)
    assert {p.parent.name for p in before} == {"kernels"}  # and none for Numba
    run(f"{GRADIENT}\nimport sys; assert 'numba' not in sys.modules", warm)
    assert content(warm) == before


def test_damaged_kernels_are_made_again(warm):
    """A file cut short, one with a flipped bit, an empty one: noticed, replaced, right."""
    kernels = sorted((warm / "kernels").iterdir())
    sound = {p: p.read_bytes() for p in kernels}
    for k, p in enumerate(kernels):
        whole = sound[p]
        half = len(whole) // 2
        flipped = whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :]
        p.write_bytes((whole[:half], flipped, b"")[k % 3])
    run(GRADIENT, warm)
    assert {p: p.read_bytes() for p in kernels} == sound


def test_two_processes_on_an_empty_cache(warm):
    """They have filled it, and nothing that is half written is left."""
    assert not [p for p in (warm / "kernels").iterdir() if len(p.name) != 64]


def test_no_place_for_kernels(tmp_path, warm):
    """A cache folder that cannot be made: gradients all the same."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    run(GRADIENT, warm, TAPE_CACHE_DIR=str(blocked / "below"))
    assert blocked.read_text() == "in the way"


def test_without_the_native_half(warm):
    """TAPE_JIT=0: the same gradients, and no compiler at all."""
    run(
        GRADIENT + "import sys; assert 'numba' not in sys.modules and 'llvmlite' not in sys.modules\n",
        warm,
        TAPE_JIT="0",
    )


def test_nowhere_to_write(tmp_path):
    """No folder for Numba's cache either: compiled anew in every process, but it works."""
    for package in ("tape", "ops"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tape" / "jit" / "__pycache__").write_text("in the way")
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TAPE_CACHE_DIR", "NUMBA_CACHE_DIR"), "/dev/null/nowhere")
    run(GRADIENT, tmp_path, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", **nowhere)


def test_a_debugger_that_watches_the_import_changes_nothing(warm):
    """Who refers to an array is counted; what a tracer holds must not be taken for the normal count."""
    # Of a module it reads nothing: CPython 3.12 adds to the globals then, which its own types.py is just going through.
    watch = (
        "lambda frame, event, argument: None if frame.f_code.co_name == '<module>' else "
        "(lambda f, e, a: f.f_locals and None) if frame.f_locals else None"
    )
    run(
        f"import sys\nsys.settrace({watch})\nimport tape\nsys.settrace(None)\n"
        "x, c = tape.ones(2, requires_grad=True), tape.ones(2)\ny = (x * c).sum()\nc.mul_(5)\n"
        "try:\n    y.backward()\nexcept RuntimeError as error:\n    assert 'changed in place' in str(error)\n"
        "else:\n    raise AssertionError(x.grad)\n",
        warm,
    )
