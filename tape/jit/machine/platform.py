"""What this processor and this system offer to lane kernels."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from ...base.locks import held_at_fork

if hasattr(llvm.ffi.lib, "_lock"):
    held_at_fork(llvm.ffi.lib._lock)


@dataclass(frozen=True)
class Processor:
    """A processor, its vector width in bits, and the prefixes of its vector math functions."""

    cpu: str
    features: str
    bits: int
    prefix: str
    """Start of the vector function names, such as ``_ZGVe``; empty without a vector library."""

    def lanes(self, bits: int) -> int:
        """How many numbers of that size a vector holds."""
        return self.bits // bits


@cache
def target() -> Processor:
    """The target of this process.

    ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` choose another, for these kernels as for Numba's; ``generic`` is
    what all processors of this architecture can do.  ``TAPE_VECTOR_MATH=0`` does without the vector math library.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if cpu == "generic" else llvm.get_host_cpu_features().flatten()
    has = features.split(",")
    bits = 512 if "+avx512f" in has else 256 if "+avx2" in has else 128
    prefix = ""
    if platform.machine() in ("x86_64", "AMD64") and _load_libmvec():
        prefix = {512: "_ZGVe", 256: "_ZGVd", 128: "_ZGVb"}[bits]
    return Processor(cpu, features, bits, prefix)


def _load_libmvec() -> bool:
    if os.environ.get("TAPE_VECTOR_MATH", "1") == "0" or platform.system() != "Linux":
        return False
    try:
        llvm.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return False
    return True


def vector_function(name: str, bits: int, operands: int) -> str | None:
    """Name of the vector form of a libm function, if the system has it."""
    t = target()
    if not t.prefix:
        return None
    symbol = f"{t.prefix}N{t.lanes(bits)}{'v' * operands}_{name}{'f' if bits == 32 else ''}"
    return symbol if llvm.address_of_symbol(symbol) else None


def machine(level: int = 2) -> llvm.TargetMachine:
    """A fresh code generator for this processor, which tries that hard."""
    t = target()
    return llvm.Target.from_default_triple().create_target_machine(opt=level, cpu=t.cpu, features=t.features, jit=True)
