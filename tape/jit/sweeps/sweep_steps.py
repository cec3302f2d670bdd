"""The sweep over the steps of a plan, and steps that call a function of BLAS or LAPACK: LLVM code, without Numba."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ...base.locks import once
from ..machine.machine_code import compile_kernel
from ..machine.regions import REFUSED

SWEEP = f"""
define i64 @kernel(i64 %block, i64 %steps, i64 %first, i64 %end) {{
entry:
  %flag_at = add i64 %block, {8 * REFUSED}
  %flag = inttoptr i64 %flag_at to ptr
  br label %loop
loop:
  %k = phi i64 [%first, %entry], [%next, %on]
  %finished = icmp sge i64 %k, %end
  br i1 %finished, label %leave, label %step
step:
  %place = shl i64 %k, 4
  %at = add i64 %steps, %place
  %pointer = inttoptr i64 %at to ptr
  %address = load i64, ptr %pointer
  %second = getelementptr i64, ptr %pointer, i64 1
  %offset = load i64, ptr %second
  %stop = icmp eq i64 %address, 0
  br i1 %stop, label %leave, label %call
call:
  %words = add i64 %block, %offset
  %kernel = inttoptr i64 %address to ptr
  call void %kernel(i64 %words)
  %refused = load i64, ptr %flag
  %fine = icmp eq i64 %refused, 0
  br i1 %fine, label %on, label %leave
on:
  %next = add i64 %k, 1
  br label %loop
leave:
  ret i64 %k
}}
"""
"""``sweep(block, steps, first, end)``: the number of the step that Python does, or that refused; `end` after all."""


@once
def sweep() -> tuple[Any, int]:
    """The sweep: what keeps it loaded, and its address."""
    return compile_kernel(SWEEP)


@once
def foreign(arguments: int) -> tuple[Any, int]:
    """A step that calls a function of so many pointers: its words are the function's address and the pointers."""
    lines, names = [], []
    for k in range(arguments + 1):
        lines += [
            f"  %at{k} = add i64 %step, {8 * k}",
            f"  %place{k} = inttoptr i64 %at{k} to ptr",
            f"  %word{k} = load i64, ptr %place{k}",
        ]
        names.append(f"i64 %word{k}")
    call = f"  call void %function({', '.join(names[1:])})"
    body = "\n".join([*lines, "  %function = inttoptr i64 %word0 to ptr", call, "  ret void"])
    return compile_kernel(f"define void @kernel(i64 %step) {{\nentry:\n{body}\n}}\n")


_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@cache
def linear_algebra(name: str) -> int:
    """Address of a function of BLAS or LAPACK, as SciPy has it for Cython; it takes pointers, as in Fortran."""
    from scipy.linalg import cython_blas, cython_lapack

    for library in (cython_blas, cython_lapack):
        capsule = library.__pyx_capi__.get(name)
        if capsule is not None:
            return int(_pointer(capsule, _name(capsule)))
    raise LookupError(f"SciPy has no {name}")
