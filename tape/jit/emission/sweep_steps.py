"""The sweep over the steps of a plan, and steps that call a function of BLAS: LLVM code, without Numba."""

from __future__ import annotations

from typing import Any

from ...base.locks import once
from ..machine.fenv import ALL
from ..machine.machine_code import compile_kernel
from ..machine.regions import REFUSED
from ..machine.ufunc_loops import FE_INVALID

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


@once
def loop(arguments: int, checked: bool) -> tuple[Any, int]:
    """A step that calls a ufunc's loop: its words are the loop, what it is given, and where the sizes and strides are;
    if it is `checked`, those of ``feclearexcept``, ``fetestexcept``, ``feraiseexcept`` and the flag of refusals; then
    so many operands.

    A loop may change the list of its operands, so it gets a copy.  One that is checked takes down all the processor's
    flags; those that were raised before are raised again.
    """
    count = (8 if checked else 4) + arguments
    lines = [f"  %operands = alloca [{arguments} x i64]", "  %words = inttoptr i64 %step to ptr"]
    for k in range(count):
        lines += [
            f"  %at{k} = getelementptr i64, ptr %words, i64 {k}",
            f"  %word{k} = load i64, ptr %at{k}",
        ]
    for k in range(arguments):
        lines += [
            f"  %place{k} = getelementptr i64, ptr %operands, i64 {k}",
            f"  store i64 %word{count - arguments + k}, ptr %place{k}",
        ]
    lines.append("  %function = inttoptr i64 %word0 to ptr")
    call = "  call void %function(ptr %operands, i64 %word2, i64 %word3, i64 %word1)"
    if checked:
        lines += [f"  %{name} = inttoptr i64 %word{k} to ptr" for k, name in enumerate(("clear", "test", "raise"), 4)]
        lines += [
            f"  %before = call i32 %test(i32 {ALL})", f"  %cleared = call i32 %clear(i32 {FE_INVALID})", call,
            f"  %found = call i32 %test(i32 {FE_INVALID})", "  %failed = icmp ne i32 %found, 0",
            "  %raised = icmp ne i32 %before, 0", "  br i1 %raised, label %again, label %judge",
            "again:", "  %done = call i32 %raise(i32 %before)", "  br label %judge",
            "judge:", "  br i1 %failed, label %refuse, label %leave",
            "refuse:", "  %flag = inttoptr i64 %word7 to ptr", "  store i64 1, ptr %flag", "  br label %leave",
            "leave:",
        ]  # fmt: skip
    else:
        lines.append(call)
    body = "\n".join([*lines, "  ret void"])
    return compile_kernel(f"define void @kernel(i64 %step) {{\nentry:\n{body}\n}}\n")
