"""Where the figures were taken."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = "numpy", "scipy", "numba", "llvmlite", "torch", "autograd", "jax", "casadi", "dask"


def processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def vectors() -> str:
    """The widest vector instructions, where the system tells."""
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return ""
    return next((f" ({text})" for flag, text in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def describe() -> dict[str, object]:
    """Machine and versions, for the report."""
    return {
        "machine": f"{processor()}{vectors()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "threads": 1,
        "versions": versions(),
    }
