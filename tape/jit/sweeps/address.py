"""Loads, stores and calls at an address, for use in jitted code.

These are the only places where memory is touched without bounds.  Whoever calls them answers
for the address: it comes from a layout that `tape.jit.machine.object_layout` has checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import errors
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

I64, I32, I8, F64, F32 = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.DoubleType(), ir.FloatType()


def _loader(result: Any, llvm_type: Any, extend: str | None = None) -> Callable[[int], Any]:
    @intrinsic
    def load(typingctx, address):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            value = builder.load(builder.inttoptr(args[0], llvm_type.as_pointer()))
            return getattr(builder, extend)(value, I64) if extend else value

        return result(types.int64), codegen

    return load


def _storer(argument: Any, llvm_type: Any, narrow: bool = False) -> Callable[[int, Any], None]:
    @intrinsic
    def store(typingctx, address, value):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            value = builder.trunc(args[1], llvm_type) if narrow else args[1]
            builder.store(value, builder.inttoptr(args[0], llvm_type.as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, argument), codegen

    return store


load_word = _loader(types.int64, I64)
load_u32 = _loader(types.int64, I32, "zext")
load_byte = _loader(types.int64, I8, "zext")
load_f64 = _loader(types.float64, F64)
load_f32 = _loader(types.float32, F32)
store_u32 = _storer(types.int64, I32, narrow=True)
store_byte = _storer(types.int64, I8, narrow=True)
store_f64 = _storer(types.float64, F64)
store_f32 = _storer(types.float32, F32)


@intrinsic
def call(typingctx, kernel, step):  # type: ignore[no-untyped-def]
    """Call the kernel at an address with the address of its step."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(ir.VoidType(), [I64]).as_pointer()
        builder.call(builder.inttoptr(args[0], function), [args[1]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def call_loop(typingctx, loop, operands, sizes, strides, data):  # type: ignore[no-untyped-def]
    """Call the loop of a ufunc at an address (see `tape.jit.machine.ufunc_loops`)."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(ir.VoidType(), [I64] * 4).as_pointer()
        builder.call(builder.inttoptr(args[0], function), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


def _word(builder: Any, table: Any, word: Any) -> Any:
    return builder.inttoptr(builder.add(table, builder.shl(word, I64(3))), I64.as_pointer())


@intrinsic
def get(typingctx, table, word):  # type: ignore[no-untyped-def]
    """A word of a table."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load(_word(builder, *args))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def put(typingctx, table, word, value):  # type: ignore[no-untyped-def]
    """Set a word of a table."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[2], _word(builder, *args[:2]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def column_reader(dtypes: Sequence[np.dtype[Any] | None]) -> Callable[[int], Any]:
    """The columns of these dtypes that the words of a step stand for, and whole numbers where there is None."""
    given = [types.int64 if dtype is None else types.Array(from_dtype(dtype), 1, "C") for dtype in dtypes]

    @intrinsic
    def read(typingctx, step):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            found = []
            for i, kind in enumerate(given):
                at, size = (builder.load(_word(builder, args[0], I64(w))) for w in (2 * i, 2 * i + 1))
                if kind is types.int64:
                    found.append(at)
                    continue
                item = I64(kind.dtype.bitwidth // 8 if kind.dtype is not types.boolean else 1)
                array = make_array(kind)(context, builder)
                memory = builder.inttoptr(at, array.data.type)
                populate_array(array, memory, [size], [item], item, meminfo=None)
                found.append(array._getvalue())
            return context.make_tuple(builder, signature.return_type, found)

        return types.Tuple(given)(types.int64), codegen

    return read


@intrinsic
def tell(typingctx, step, word, value):  # type: ignore[no-untyped-def]
    """Put a number into a word of a step, and 1 into the next; neither for None."""
    if not isinstance(value, (types.Integer, types.NoneType)):
        raise errors.TypingError(f"a pass gives a whole number or None, not {value}")

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        if isinstance(value, types.Integer):
            number = context.cast(builder, args[2], value, types.int64)
            for w, found in ((args[1], number), (builder.add(args[1], I64(1)), I64(1))):
                builder.store(found, _word(builder, args[0], w))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, value), codegen
