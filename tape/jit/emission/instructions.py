"""Functions of machine code that Python calls as if they were its own, written instruction by instruction.

What such a function needs of this process, addresses of objects and of functions, is in a table; so equal functions are
compiled once, and kept on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..machine.machine_code import compile_kernel
from ..machine.object_layout import ARRAY_DATA, TUPLE_ITEMS
from .lines import Code

FAST_CALL = 0x80
LEVEL = 0
"""How hard the compiler tries: harder takes ten times as long, and calls are no faster."""


class _Method(ctypes.Structure):
    """CPython's description of a function written in C."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    )  # fmt: skip


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


@cache
def in_python(name: str) -> int:
    """Address of a function of Python's C API."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


class Instructions(Code):
    """Writes a function of so many arguments; values are names of 64-bit integers.

    Attributes:
        arguments: the names of its arguments.
    """

    def __init__(self, count: int = 2) -> None:
        super().__init__()
        self.table: list[int] = []
        self._locals = 0
        self._alive: list[Any] = []
        self._places: dict[int, int] = {}
        self.arguments = [self.load("%arguments", 8 * k) for k in range(count)]

    def known(self, value: int) -> str:
        """A number that is known now, and another one in another process."""
        place = self._places.setdefault(value, len(self.table))
        if place == len(self.table):
            self.table.append(value)
        return self.load("%table", 8 * place)

    def thing(self, thing: Any) -> str:
        """An object, which lives as long as the function."""
        self._alive.append(thing)
        return self.known(id(thing))

    def local(self) -> str:
        """The address of a word of the function's own."""
        self._locals += 1
        return f"%l{self._locals}"

    def load(self, address: str, offset: int = 0, kind: str = "i64") -> str:
        return self.say(f"load {kind}, ptr {self._pointer(address, offset)}")

    def store(self, value: str, address: str, offset: int = 0, kind: str = "i64") -> None:
        self.lines.append(f"store {kind} {value}, ptr {self._pointer(address, offset)}")

    def _pointer(self, address: str, offset: int) -> str:
        return self.say(f"inttoptr i64 {self.add(address, offset)} to ptr")

    def add(self, address: str, offset: int) -> str:
        return self.say(f"add i64 {address}, {offset}") if offset else address

    def call(self, address: int, *arguments: str, gives: str = "i64") -> str:
        """Call a function of words that gives a word or less."""
        pointer = self._pointer(self.known(address), 0)
        return self.say(f"call {gives} {pointer}({', '.join(f'i64 {x}' for x in arguments)})")

    def python(self, name: str, *arguments: str, gives: str = "i64") -> str:
        """Call a function of Python's C API."""
        return self.call(in_python(name), *arguments, gives=gives)

    def perform(self, name: str, *arguments: str) -> None:
        """Call a function of Python's C API that gives nothing."""
        pointer = self._pointer(self.known(in_python(name)), 0)
        self.lines.append(f"call void {pointer}({', '.join(f'i64 {x}' for x in arguments)})")

    def run(self, kernel: int, step: int) -> None:
        """Call a kernel."""
        self.lines.append(f"call void {self._pointer(self.known(kernel), 0)}(i64 {self.known(step)})")

    def test(self, how: str, x: str, y: str | int, kind: str = "i64") -> str:
        return self.say(f"icmp {how} {kind} {x}, {y}")

    def require(self, condition: str, otherwise: str = "refuse") -> None:
        """Go on only if a condition holds."""
        self._names += 1
        self.lines += [f"br i1 {condition}, label %b{self._names}, label %{otherwise}", f"b{self._names}:"]

    def made(self, thing: str) -> str:
        self.require(self.test("ne", thing, 0), "fail")
        return thing

    def again(self, thing: str) -> str:
        """One more reference to an object."""
        self.perform("Py_IncRef", thing)
        return thing

    def give(self, thing: str) -> None:
        """End with this result."""
        self.lines.append(f"ret i64 {thing}")

    def text(self) -> str:
        """The whole function; its ``self`` is a tuple that begins with the table."""
        body, self.lines = self.lines, ["refuse:"]
        self.give(self.again(self.thing(NotImplemented)))
        places = range(1, self._locals + 1)
        start = [
            "define i64 @kernel(i64 %self, i64 %arguments, i64 %count) {", "entry:",
            *(f"%a{k} = alloca i64\n%l{k} = ptrtoint ptr %a{k} to i64" for k in places),
            f"%item = add i64 %self, {TUPLE_ITEMS}", "%to = inttoptr i64 %item to ptr", "%array = load i64, ptr %to",
            f"%data = add i64 %array, {ARRAY_DATA}", "%in = inttoptr i64 %data to ptr", "%table = load i64, ptr %in",
            f"%all = icmp eq i64 %count, {len(self.arguments)}", "br i1 %all, label %start, label %refuse", "start:",
        ]  # fmt: skip
        return "\n".join([*start, *body, *self.lines, "fail:", "ret i64 0", "}"])

    def function(self, *alive: Any) -> Callable[..., Any]:
        """The function as one of Python's; with it live these things."""
        engine, address = compile_kernel(self.text(), LEVEL)
        method = _Method(b"entry", address, FAST_CALL, None)
        table = np.array(self.table, dtype=np.int64)
        return _new_function(ctypes.addressof(method), (table, method, engine, self._alive, alive), None)
