"""Fresh processes with caches of their own, and caches that one of them has filled."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(find_spec("tape").origin).parents[1]
"""Where the library lies that is tested: another place than the checkout, if it is installed."""
GRADIENT = """
import tape
x = tape.tensor([0.25, 0.5, 0.75], requires_grad=True)
(tape.sin(x) * x).sum().backward()
assert abs(float(x.grad[1]) - 0.9182167) < 1e-6, x.grad
"""


def start(program, caches, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TAPE_", "NUMBA_"))}
    env |= {
        "TAPE_CACHE_DIR": str(caches / "kernels"),
        "NUMBA_CACHE_DIR": str(caches / "numba"),
        "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]),
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program], env=env | more, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process):
    """What a process wrote by its end, to both of its outputs; one that takes too long is killed."""
    try:
        return process.communicate(timeout=180)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


def run(program, caches, **more):
    """What a program prints that is jitted from the first sweep on, unless `more` says otherwise."""
    process = start(program, caches, **{"TAPE_JIT": "1"} | more)
    out, err = ended(process)
    assert process.returncode == 0, err
    return out


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """A folder of caches in which the jitted sweep lies: two processes have filled it at once, in some seconds."""
    caches = tmp_path_factory.mktemp("caches")
    processes = [start(GRADIENT, caches, TAPE_JIT="1") for _ in range(2)]
    for process in processes:
        _, err = ended(process)
        assert process.returncode == 0, err
    return caches
