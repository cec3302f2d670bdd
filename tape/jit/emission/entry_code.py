"""Entries: functions that Python calls instead of a program, each written for one kind of call.

An entry looks at its arguments, calls kernels and makes the result, all in machine code.  Where anything is not
as expected it gives ``NotImplemented``, and nothing has happened.

From when it writes to the kernels' memory until it has read the results it calls nothing that could run Python code
(`numpy.empty` runs none), and it holds the GIL; so one memory is enough for all threads.  A long one gives the GIL back
while the kernels run, and a word says meanwhile that the memory is in use: another thread then takes the general way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from .instructions import Instructions
from ..machine.object_layout import (
    ARRAY_DATA, ARRAY_DESCR, ARRAY_DIMS, ARRAY_FLAGS, ARRAY_NDIM, ARRAY_STRIDES, LIST_ITEMS, PLAIN_ARRAY, SCALAR_VALUE,
    TUPLE_ITEMS, TYPE, slot_offset, words,
)  # fmt: skip

CONTENT = LENGTH = 16
"""Where a cell has its content, a tuple or a list its length."""
MOVE = ctypes.cast(ctypes.memmove, ctypes.c_void_p).value or 0


_slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(("PyType_GetSlot", ctypes.pythonapi))
ALLOC = 47
"""CPython's number of the slot of a type that holds the function which allocates."""


def allocator(kind: type) -> int:
    """Address of the function that allocates an object of a type."""
    return int(_slot(kind, ALLOC))


SLOTS = {name: slot_offset(Tensor, name) for name in ("_data", "_node")}


@cache
def holds() -> bool:
    """Whether cells and tensors keep what they hold where it is looked for."""
    content = object()
    cell = words((lambda: content).__closure__[0])  # type: ignore[index]
    return cell[CONTENT // 8] == id(content) and all(SLOTS.values())


class EntryWriter(Instructions):
    """Writes an entry."""

    # Conditions: the entry refuses the call where one does not hold.

    def require_equal(self, x: str, y: str | int, kind: str = "i64") -> None:
        self.require(self.test("eq", x, y, kind))

    def require_same(self, thing: str, expected: Any) -> None:
        """Go on only with this very object."""
        self.require_equal(thing, self.thing(expected))

    def require_content(self, address: str, expected: str, nbytes: int) -> None:
        """Go on only if so many bytes are the same at two addresses."""
        width = 8 if nbytes % 8 == 0 else 1
        place, kind = self.local(), f"i{8 * width}"
        self.store("0", place)
        self._names += 1
        loop = f"loop{self._names}"
        self.lines += [f"br label %{loop}", f"{loop}:"]
        at = self.load(place)
        here, there = (self.load(self.say(f"add i64 {x}, {at}"), 0, kind) for x in (address, expected))
        self.require_equal(here, there, kind)
        following = self.add(at, width)
        self.store(following, place)
        self._names += 1
        more = self.test("slt", following, nbytes)
        self.lines += [f"br i1 {more}, label %{loop}, label %same{self._names}", f"same{self._names}:"]

    def is_a(self, thing: str, kind: type) -> str:
        """Whether an object is of this very type."""
        return self.test("eq", self.load(thing, TYPE), self.thing(kind))

    def content(self, cell: Any) -> str:
        """What is in a cell."""
        return self.load(self.thing(cell), CONTENT)

    def named(self, space: Any, name: Any) -> str:
        """What a dict has under a name, 0 if nothing."""
        return self.python("PyDict_GetItem", self.thing(space), self.thing(name))

    def item(self, mapping: Any, key: Any) -> str:
        """What a mapping that is no dict has under a key; to be compared only."""
        found = self.python("PyObject_GetItem", self.thing(mapping), self.thing(key))
        self._names += 1
        absent, present = f"absent{self._names}", f"present{self._names}"
        self.lines += [f"br i1 {self.test('eq', found, 0)}, label %{absent}, label %{present}", f"{absent}:"]
        self.perform("PyErr_Clear")
        self.lines += ["br label %refuse", f"{present}:"]
        self.perform("Py_DecRef", found)
        return found

    def in_context(self, variable: ContextVar[Any]) -> str:
        """What a context variable holds, None if nothing; to be compared only."""
        place = self.local()
        status = self.python("PyContextVar_Get", self.thing(variable), self.thing(None), place, gives="i32")
        self.require(self.test("eq", status, 0, "i32"), "fail")
        found = self.load(place)
        self.perform("Py_DecRef", found)
        return found

    def require_or_ask(self, condition: str, function: Callable[[], bool]) -> None:
        """Go on only if a condition holds, or else a function of Python says that it may."""
        self._names += 1
        asking, going_on = f"asking{self._names}", f"goingon{self._names}"
        self.lines += [f"br i1 {condition}, label %{going_on}, label %{asking}", f"{asking}:"]
        answer = self.made(self.python("PyObject_CallNoArgs", self.thing(function)))
        self.perform("Py_DecRef", answer)
        self.require_same(answer, True)
        self.lines += [f"br label %{going_on}", f"{going_on}:"]

    def slot(self, tensor: str, name: str) -> str:
        """What a tensor has in a slot."""
        return self.load(tensor, SLOTS[name])

    def value(self, thing: str) -> str:
        """Where a float has its value."""
        return self.add(thing, SCALAR_VALUE)

    def items(self, thing: str, kind: type, count: int) -> list[str]:
        """What is in a tuple or a list of that many things."""
        self.require(self.is_a(thing, kind))
        self.require_equal(self.load(thing, LENGTH), count)
        base, offset = (self.load(thing, LIST_ITEMS), 0) if kind is list else (thing, TUPLE_ITEMS)
        return [self.load(base, offset + 8 * k) for k in range(count)]

    def values(self, thing: str, keys: Sequence[Any]) -> list[str]:
        """The values in a dict with just these keys, in this order."""
        self.require(self.is_a(thing, dict))
        self.require_equal(self.python("PyDict_Size", thing), len(keys))
        place, *found = self.local(), self.local(), self.local()
        self.store("0", place)
        values = []
        for key in keys:
            self.require_equal(self.python("PyDict_Next", thing, place, *found, gives="i32"), 1, "i32")
            self.require_equal(self.load(found[0]), self.thing(key))
            values.append(self.load(found[1]))
        return values

    def array(self, thing: str, shape: Sequence[int], dtype: np.dtype[Any]) -> str:
        """Where a plain array of that shape and dtype has its elements."""
        self.fits(thing, shape, dtype)
        flags = self.say(f"and i32 {self.load(thing, ARRAY_FLAGS, 'i32')}, {PLAIN_ARRAY}")
        self.require_equal(flags, PLAIN_ARRAY, "i32")
        return self.load(thing, ARRAY_DATA)

    def fits(self, thing: str, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        """Go on only if something is an array of that shape and dtype, however it lies in memory."""
        self.require(self.is_a(thing, np.ndarray))
        self.require_equal(self.load(thing, ARRAY_NDIM, "i32"), len(shape), "i32")
        self.require_equal(self.load(thing, ARRAY_DESCR), self.thing(dtype))
        dims = self.load(thing, ARRAY_DIMS)
        for k, n in enumerate(shape):
            self.require_equal(self.load(dims, 8 * k), n)

    def lies(self, thing: str, strides: Sequence[int]) -> None:
        """Go on only if an array of as many axes has these strides."""
        found = self.load(thing, ARRAY_STRIDES)
        for k, step in enumerate(strides):
            self.require_equal(self.load(found, 8 * k), step)

    def in_rows(self, thing: str) -> tuple[str, str]:
        """A copy of an array in row-major order, to be dropped, and where its elements are."""
        made = self.applied(np.ascontiguousarray, self.again(thing))
        return made, self.load(made, ARRAY_DATA)

    def number(self, thing: str, dtype: np.dtype[Any]) -> str:
        """Where a number of that dtype is, NumPy's scalar or an array without axes."""
        place = self.local()
        self._names += 1
        scalar, array, join = (f"{what}{self._names}" for what in ("scalar", "array", "join"))
        self.lines += [f"br i1 {self.is_a(thing, dtype.type)}, label %{scalar}, label %{array}", f"{scalar}:"]
        self.store(self.add(thing, SCALAR_VALUE), place)
        self.lines += [f"br label %{join}", f"{array}:"]
        self.store(self.array(thing, (), dtype), place)
        self.lines += [f"br label %{join}", f"{join}:"]
        return self.load(place)

    # Results: each is an object of its own; where there is no memory for it, Python's exception is passed on.

    def applied(self, function: Callable[[Any], Any], thing: str) -> str:
        """What a function of Python makes of an object, whose reference it takes."""
        made = self.made(self.python("PyObject_CallOneArg", self.thing(function), thing))
        self.perform("Py_DecRef", thing)
        return made

    def new_number(self, address: str, dtype: np.dtype[Any], type_of: type) -> str:
        """The number at an address as NumPy's scalar, or as a float."""
        kind = f"i{8 * dtype.itemsize}"
        value = self.load(address, 0, kind)
        made = self.made(self.call(allocator(type_of), self.thing(type_of), "0"))
        self.store(value, made, SCALAR_VALUE, kind)
        return made

    def new_truth(self, address: str) -> str:
        truth = self.test("ne", self.load(address, 0, "i8"), 0, "i8")
        yes, no = self.thing(np.True_), self.thing(np.False_)
        return self.again(self.say(f"select i1 {truth}, i64 {yes}, i64 {no}"))

    def new_array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[str, str]:
        """A fresh array, and where its elements are, which are to be written."""
        made = self.made(self.python("PyObject_Call", self.thing(np.empty), self.thing((shape, dtype)), "0"))
        return made, self.load(made, ARRAY_DATA)

    def copied(self, address: str, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> str:
        """A fresh array with what is at an address."""
        made, elements = self.new_array(shape, dtype)
        self.call(MOVE, elements, address, str(nbytes))
        return made

    def turned(self, address: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> str:
        """A fresh array that lies by columns, with what is at an address by rows: a loop over these."""
        made = self.made(self.python("PyObject_Call", self.thing(np.empty), self.thing((shape, dtype, "F")), "0"))
        kind, size = f"i{8 * dtype.itemsize}", dtype.itemsize
        places = np.arange(np.prod(shape)).reshape(shape, order="F")[0].ravel() * size
        row = self.loop()
        source = self.say(f"add i64 {address}, {self.say(f'mul i64 {row}, {size * len(places)}')}")
        elements = self.say(f"add i64 {self.load(made, ARRAY_DATA)}, {self.say(f'mul i64 {row}, {size}')}")
        for k, place in enumerate(places.tolist()):
            self.store(self.load(source, size * k, kind), elements, place, kind)
        self.end_loop(row, shape[0])
        return made

    def loop(self) -> str:
        """What is written from here to `end_loop`, a line after another, is done for 0, 1, … in turn; which it is."""
        self._names += 1
        n = self._names
        number, following = f"%number{n}", f"%following{n}"
        self.lines += [f"br label %enter{n}", f"enter{n}:", f"br label %loop{n}", f"loop{n}:"]
        self.lines.append(f"{number} = phi i64 [0, %enter{n}], [{following}, %loop{n}]")
        return number

    def end_loop(self, number: str, count: int) -> None:
        """The end of what is done so often."""
        n = number.removeprefix("%number")
        self.lines.append(f"%following{n} = add i64 {number}, 1")
        more = self.test("slt", f"%following{n}", count)
        self.lines += [f"br i1 {more}, label %loop{n}, label %after{n}", f"after{n}:"]

    def require_or_drop(self, condition: str, things: Sequence[str]) -> None:
        """Go on only if a condition holds; objects that were made for the results go away otherwise."""
        self._names += 1
        dropping, going_on = f"dropping{self._names}", f"goingon{self._names}"
        self.lines += [f"br i1 {condition}, label %{going_on}, label %{dropping}", f"{dropping}:"]
        for thing in things:
            self.perform("Py_DecRef", thing)
        self.lines += ["br label %refuse", f"{going_on}:"]

    def new_items(self, kind: type, items: Sequence[str]) -> str:
        """A tuple or a list, which takes the references to its items."""
        made = self.made(self.python("PyTuple_New" if kind is tuple else "PyList_New", str(len(items))))
        base, offset = (made, TUPLE_ITEMS) if kind is tuple or not items else (self.load(made, LIST_ITEMS), 0)
        for k, item in enumerate(items):
            self.store(item, base, offset + 8 * k)
        return made

    def new_dict(self, keys: Sequence[Any], values: Sequence[str]) -> str:
        made = self.made(self.python("PyDict_New"))
        for key, value in zip(keys, values):
            status = self.python("PyDict_SetItem", made, self.thing(key), value, gives="i32")
            self.require(self.test("eq", status, 0, "i32"), "fail")
            self.perform("Py_DecRef", value)
        return made
