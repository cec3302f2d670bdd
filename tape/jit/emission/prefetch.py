"""Asking for memory before it is needed.

Processors fetch ahead by themselves what is read in order, but start anew on each page (4 KiB).  A kernel that
goes through several arrays waits there for each of them, one after another where they do not begin at equal places of
their pages; asked for a few lines before, all are there.  A prefetch beyond the end of an array does nothing.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

LINE = 64
"""Bytes of a line of the cache: the least there is (some processors have lines of 128)."""
AHEAD = 2048
"""How many bytes before they are needed lines are asked for."""
READ, WRITE = 0, 1
NAME = "llvm.prefetch.p0"
DECLARATION = f"declare void @{NAME}(ptr, i32, i32, i32)"


def offsets(nbytes: int) -> range:
    """How far the lines that are asked for lie from a vector of so many bytes."""
    return range(AHEAD, AHEAD + nbytes, LINE)


def instruction(pointer: str, purpose: int) -> str:
    """The line of LLVM code that asks for a line of the cache, to be kept near."""
    return f"call void @{NAME}(ptr {pointer}, i32 {purpose}, i32 3, i32 1)"


def prefetch(builder: ir.IRBuilder, address: Any, nbytes: int, purpose: int) -> None:
    """Ask for what lies `AHEAD` of a vector."""
    word, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
    module = builder.module
    if NAME in module.globals:
        function = module.globals[NAME]
    else:
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, word, word, word]), NAME)
    for offset in offsets(nbytes):
        ahead = builder.inttoptr(builder.add(address, address.type(offset)), pointer)
        builder.call(function, [ahead, word(purpose), word(3), word(1)])
