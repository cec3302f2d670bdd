"""What can only be seen in a fresh process: how long an import and a first gradient take, and memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import cos, exp, sin
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[2]

IMPORT = """
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""

FIRST_GRADIENT = {
    "tape": """
import tape as torch
x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
y = (torch.sin(x) * x + torch.exp(x)).sum()
y.backward()
print(x.grad.sum().item())
""",
    "autograd": """
import autograd, autograd.numpy as np
x = np.array([0.5, 1.0, 2.0])
print(autograd.grad(lambda x: np.sum(np.sin(x) * x + np.exp(x)))(x).sum())
""",
    "jax": """
import jax, jax.numpy as np
jax.config.update("jax_enable_x64", True)
x = np.array([0.5, 1.0, 2.0])
print(jax.grad(lambda x: np.sum(np.sin(x) * x + np.exp(x)))(x).sum())
""",
}
FIRST_GRADIENT["torch"] = FIRST_GRADIENT["tape"].replace("import tape as torch", "import torch")
SUM_OF_FIRST_GRADIENT = sum(cos(x) * x + sin(x) + exp(x) for x in (0.5, 1.0, 2.0))
FIRST_GRADIENT["scipy"] = f"import numpy, scipy.special\nprint({SUM_OF_FIRST_GRADIENT!r})"
"""No gradient: the imports alone, and what the others find."""

FIRST_CHECK = (
    "-m", "tape.gradcheck", "notebooks/models/logistic.py:loss", "--input", "w=(30,)", "--input", "b=0.5",
    "--input", "X=breast_cancer.npz[X]", "--input", "y=breast_cancer.npz[y]",
)  # fmt: skip
"""The first command in the README."""

AS_USERS_HAVE_IT = "TAPE_JIT", "PYTHONDONTWRITEBYTECODE"
"""What a fresh process has nothing in its environment of: which sweep to use, and that modules are compiled anew."""


def output(arguments: Sequence[str], caches: str | None = None, filling: bool = False) -> str:
    """What a fresh Python prints, with its caches of compiled code in a folder of their own.

    With `filling` all that the library has of its own is compiled, as on a machine where it has been used for a while.
    """
    environment = {name: value for name, value in os.environ.items() if name not in AS_USERS_HAVE_IT}
    if caches is not None:
        environment |= {"NUMBA_CACHE_DIR": f"{caches}/numba", "TAPE_CACHE_DIR": f"{caches}/tape"}
    if filling:
        environment["TAPE_JIT"] = "1"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"a process that was to be measured failed:\n{done.stderr}")
    return done.stdout


def printed(arguments: Sequence[str], caches: str | None = None) -> float:
    """The number that a fresh Python prints."""
    return float(output(arguments, caches))


def import_seconds(module: str) -> Callable[[], float]:
    """A sampler of the time one ``import`` takes, without the start of Python itself."""
    return lambda: printed(["-c", IMPORT.format(module=module)])


def first_gradient(peer: str, caches: str | None = None) -> float:
    """Seconds from the start of a Python process to its end, with one small gradient in between."""
    start = perf_counter()
    found = printed(["-c", FIRST_GRADIENT[peer]], caches)
    seconds = perf_counter() - start
    if abs(found - SUM_OF_FIRST_GRADIENT) > 1e-9:
        raise AssertionError(f"{peer} finds {found} where the gradient sums to {SUM_OF_FIRST_GRADIENT}")
    return seconds


def first_check(caches: str | None = None) -> float:
    """Seconds from the start to the end of the README's first command."""
    start = perf_counter()
    found = output(FIRST_CHECK, caches)
    seconds = perf_counter() - start
    if "right: 31 derivatives" not in found:
        raise AssertionError(f"gradcheck finds something else than 31 right derivatives:\n{found}")
    return seconds


@contextmanager
def folder(filled: bool) -> Iterator[Callable[[], str]]:
    """Gives folders for caches: one that a first run has filled, or an empty one each time."""
    with tempfile.TemporaryDirectory() as top:
        if filled:
            first_gradient("tape", top)
            yield lambda: top
        else:
            yield lambda: tempfile.mkdtemp(dir=top)


def bytes_per_record(peer: str, records: int) -> float:
    """Growth of a fresh process over a recorded chain on one number, for each operation."""
    return printed(["-m", "tests.benchmarks.memory", peer, str(records)])


def first_call(peer: str, name: str, warm: int, size: int, caches: str | None = None) -> float:
    """Seconds of a first call in a fresh process; see `first`."""
    return printed(["-m", "tests.benchmarks.first", peer, name, str(warm), str(size)], caches)


@contextmanager
def copies(name: str, warm: int) -> Iterator[Callable[[], str]]:
    """Gives folders for caches with all that is the library's own; kernels are kept by content, so this work's lack."""
    with tempfile.TemporaryDirectory() as top:
        output(["-m", "tests.benchmarks.first", "tape.compile", name, str(warm)], f"{top}/filled", filling=True)
        yield lambda: shutil.copytree(f"{top}/filled", tempfile.mkdtemp(dir=top), dirs_exist_ok=True)


def peak_bytes(peer: str, when: str, name: str, *size: int) -> float:
    """The most memory in use in a fresh process; see `memory`."""
    return printed(["-m", "tests.benchmarks.memory", peer, when, name, *map(str, size)])
