"""Recording a function as a list that stands for itself: a `Trace` under construction.

While a function is recorded, its arguments are `Traced` tensors.  They have concrete values, so
Python runs as always, but every op that they meet is appended here whether a gradient flows or
not: comparisons and integers are part of a program too.  Whatever Python is told of a value (a truth
value, a number, an array) becomes a `Guard`, because the list holds for that value only.
"""

from __future__ import annotations

import weakref
from _thread import get_ident
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.op import is_complex
from ops.core.own import may_raise

from ...base.errors import AsItIs, misfit, not_for_complex, note
from ...base.spec import Spec, spec_of
from ...base.tensor import Tensor
from ...recording.recorder import getframe, user_frame
from ...recording.wengert import INFERRING, current
from .guards import Guard
from .large.fingerprint import fingerprint
from .large.foreseen import foreseen
from .large.later import Computing, Later, evaluated, given_now, later, later_input
from .raising import ALL_KINDS, handling, ignored, raises
from .trace_records import Records, X

INPUT, CONSTANT = -1, -2
"""Opcodes of the rows that no op made: X is the number of the input, or of the constant."""
OUTPUT = REGISTRY["output"]


ERRORS = "np.errstate or np.seterr makes floating-point errors more than warnings"
"""Why nothing is recorded where NumPy raises."""

PlainStep = tuple[int, int, int | None, Spec]
"""An op without parameters: its opcode, its operands, by place in a list of numbers or by −1 minus a number (None where
there is one operand), and the spec of its result."""


OF_NUMBERS = FloatingPointError, Warning, np.linalg.LinAlgError
"""Errors that other numbers might not make, whatever op it is; of any other error `may_raise` says so."""


class Untraceable(AsItIs):
    """The function does something that a recorded list cannot repeat; it has to run as it is."""

    def __init__(self, *reason: Any) -> None:
        super().__init__(*reason)
        note(self)


class WithoutHistory(Untraceable):
    """It asks for gradients that there are none of: for such arguments, or where gradients are not recorded."""


def escaped() -> RuntimeError:
    """The error for a tensor that outlived its recording."""
    return RuntimeError(
        "a tensor that was being recorded has left its function: it was kept in a variable outside, or belongs to "
        "another function that is being recorded.\nReturn it from the compiled function instead."
    )


class Trace(Records):
    """The list of a function that is being recorded.

    Attributes:
        constants: what the constant rows stand for: plain numbers, arrays, tensors from outside.
        guards: what Python was told, in order.
        stopped: numbers of the records through which no gradient flows.
        leaves: of those that no gradient flows through, the ones that it may flow to.
        released: of those that a backward has gone through without retaining the graph.
        hooks: by number, what is called with the adjoint of a record.
        ordered: whether what it does in place would be something else if the arguments lay otherwise in memory.
        unsure: whether arrays may lie in memory otherwise than in eager execution, so that nobody may be told how.
        tensors: whether it stands for what a function of tensors does, whose ops refuse complex numbers if they have no
            meaning for them; if False, for what NumPy does with arrays; if None, for rules and drafts.
        numbers: the rows of plain numbers, by the number if that is a float other than zero.
        integers: the rows of plain integers.
        plain: by row, the plain numbers, and `looks`, by row of one, its type and text.
        own: by identity, ordinary tensors that stand for a record, and the traced tensor of that.
        sought: by number, how many derivatives with respect to a record are being taken of what is computed now.
        templates: by all that rules can see of a record, its parameters and what they append for it.
        parts: by index and by how a tensor looks: the parameters, layout and spec of what is read there.
        given: which of the arguments are tensors.
        tracked: which of the arguments require grad.
        mode: whether gradients are recorded where it is called; None if all calls count alike, and all arguments.
        historic: whether it does something else if either is otherwise.
        apart: by the number of the first one, what rows became that were taken apart already.
        lent: weakly, the plain arrays that Python was told.
        calm: what NumPy keeps of how errors are handled, if that raises nothing (see `raising.handling`).
        ignored: numbers of records, and the kinds of floating-point errors that were ignored as these were made.
        origins: by number, as far as that was asked, the sources that a gradient flows to, as `bits` of these.
        classes: records that are of the class that these others have, if that is one.
        failed: whether an op refused the numbers that it was given, about which the function may have done something.
        computing: computes what somebody looks at, and knows how much memory that takes.
    """

    __slots__ = (
        "_objects", "_prints", "apart", "bits", "calm", "classes", "computing", "constants", "failed", "given",
        "guards", "historic", "hooks", "ignored", "inputs", "integers", "leaves", "lent", "looks", "mode", "numbers",
        "open", "ordered", "origins", "own", "parts", "plain", "released", "sought", "stopped", "templates", "tensors",
        "tracked", "unsure", "wengert",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.constants: list[Any] = []
        self.inputs: list[int] = []
        self.guards: list[Guard] = []
        self.stopped: set[int] = set()
        self.leaves: set[int] = set()
        self.released: set[int] = set()
        self.hooks: dict[int, dict[int, Any]] = {}
        self.open = True
        self.tensors: bool | None = None
        self.ordered = self.unsure = False
        self.wengert = current()
        self.numbers: dict[Any, int] = {}
        self.integers: dict[int, int] = {}
        self.plain: dict[int, Any] = {}
        self.looks: dict[int, tuple[type, str]] = {}
        self._objects: dict[int, int] = {}
        self._prints: dict[int, Any] = {}
        self.own: dict[int, tuple[Tensor, Any]] = {}
        self.apart: dict[int, list[Any]] = {}
        self.sought: dict[int, int] = {}
        self.templates: dict[Any, Any] = {}
        self.parts: dict[Any, Any] = {}
        self.given: tuple[bool, ...] = ()
        self.tracked: tuple[bool, ...] = ()
        self.mode: bool | None = self.wengert.recording
        self.historic = False
        self.lent: list[weakref.ref[np.ndarray]] = []
        self.calm = None if raises() else handling(None)
        self.ignored: list[tuple[range, int]] = []
        self.origins: list[int] = []
        self.bits: dict[int, int] = {}
        self.failed = False
        self.classes: dict[int, tuple[int, ...]] = {}
        self.computing = Computing()

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Gradients flow through what is recorded meanwhile, wherever this is called."""
        before, self.wengert.recording = self.wengert.recording, True
        try:
            yield
        finally:
            self.wengert.recording = before

    def where(self, depth: int) -> tuple[CodeType, int]:
        """The user's line, `depth` frames up or beyond the library's own."""
        return self.wengert.where or user_frame(getframe(depth + 1))

    def append(self, code: int, x: int, y: int, extra: Any, value: Any, depth: int = 1) -> int:
        """Append a record; its number."""
        number = len(self.values)
        if handling(None) is not self.calm:
            self.note_ignored(1)
        spec = None if type(value) is tuple else value.spec if type(value) is Later else spec_for(value)
        self.extend((code, x, y, extra, spec, *self.where(depth + 1)))
        self.values.append(value)
        if not self.wengert.recording:
            self.stop(number)
        return number

    def append_plain(self, steps: Iterable[PlainStep], rows: list[int]) -> None:
        """Append records, while gradients are recorded, whose values are computed later; `rows` gets their numbers."""
        if handling(None) is not self.calm:
            steps = list(steps)
            self.note_ignored(len(steps))
        (line, lasti), values, flat = self.where(2), self.values, self.rows
        for code, i, j, spec in steps:
            x = rows[i] if i >= 0 else -1 - i
            y = -1 if j is None else rows[j] if j >= 0 else -1 - j
            rows.append(len(values))
            flat += code, x, y, None, spec, line, lasti
            values.append(Later(spec))

    def note_ignored(self, count: int) -> None:
        """Note of so many records, which are made next, which kinds of errors are ignored: here it is said anew.

        Raises:
            Untraceable: if it is said that one raises.
        """
        if raises():
            raise Untraceable(ERRORS)
        kinds, start = ignored(), len(self.values)
        if kinds:
            before, same = self.ignored[-1] if self.ignored else (range(0), 0)
            if same == kinds and before.stop == start:
                self.ignored[-1] = range(before.start, start + count), kinds
            else:
                self.ignored.append((range(start, start + count), kinds))

    @contextmanager
    def ignoring(self) -> Iterator[None]:
        """Floating-point errors are ignored, of what is recorded meanwhile, too; not if it has hooks of the user's."""
        start, calm = len(self.values), self.calm
        with np.errstate(all="ignore"):
            self.calm = handling(None)
            try:
                yield
            finally:
                self.calm = calm
        if not any(self.hooks.values()):
            self.ignored.append((range(start, len(self.values)), ALL_KINDS))

    def stop(self, number: int) -> None:
        """Note that no gradient flows through a record, which is made while none is recorded."""
        if get_ident() in INFERRING:
            raise Untraceable("it enters inference_mode, whose tensors no gradient may use; use no_grad")
        self.stopped.add(number)

    def is_number(self, number: int) -> bool:
        """Whether a row stands for a plain number."""
        return number in self.plain

    def input(self, value: Any) -> int:
        """Append a row for an argument of the function."""
        check_order_of_bytes(value)
        number = self.append(INPUT, len(self.inputs), -1, None, later_input(value))
        self.inputs.append(number)
        return number

    def number(self, value: Any) -> int:
        """The row of a plain number; equal numbers of one type share it."""
        kind = type(value)
        known: dict[Any, int] = self.integers if kind is int else self.numbers
        key = value if kind is int or (kind is float and value) else (kind, repr(value))  # -0.0 is not 0.0
        found = known.get(key)
        if found is None:
            found = known[key] = self._constant(value, value)
        return found

    def capture(self, thing: Any) -> int:
        """The row of an array or tensor that comes from outside; it is read anew on every replay."""
        if id(thing) in self.own:
            return self.own[id(thing)][1]._row
        if type(thing) is Tensor and type(thing._node) is int:
            raise Untraceable("a tensor whose history is not recorded with the function meets one that is recorded")
        if type(thing) is Tensor and thing._node is None and self.tensors is False:
            # An array of the function's own, which a change in place leaves to whoever holds its memory.
            thing = thing._data
            if not isinstance(thing, np.ndarray):
                return self._constant(thing, thing)
        found = self._objects.get(id(thing))
        if found is None:
            value = value_in(thing)
            found = self._objects[id(thing)] = self._constant(thing, value)
            self._prints[found] = fingerprint(value)
        return found

    @property
    def captured(self) -> Iterable[int]:
        """Identities of the arrays and tensors from outside that became constants."""
        return self._objects.keys()

    def rows_of(self, things: Iterable[Any]) -> dict[int, Any]:
        """By the record of each that was captured, these arrays or tensors from outside."""
        return {self._objects[id(x)]: x for x in things if id(x) in self._objects}

    def captured_with_history(self) -> list[int]:
        """The records of tensors from outside that require grad."""
        return [k for k in self._objects.values() if is_tracked(self.constants[self.fields(k)[X]])]

    def check_captured(self) -> None:
        """Raise if an array was changed after it had been read, for a replay would read what it held at last.

        Raises:
            Untraceable: if one was.
        """
        for row, print in self._prints.items():
            if fingerprint(value_in(self.constants[self.fields(row)[X]])) != print:
                raise Untraceable("an array that is no argument was changed in place after it had been used")

    def awaited(self) -> list[int]:
        """The records that gradients are, or may be, taken with respect to; none where nothing is recorded."""
        targets = [k for k, count in self.sought.items() if count > 0]
        targets += [k for k, tracked in zip(self.inputs, self.tracked) if tracked]
        targets += self.captured_with_history()
        return targets if self.wengert.recording else []

    def sources(self, tracked: bool = False) -> list[int]:
        """The records that a gradient may flow to from others: what has a history depends on one of them.

        Of the arguments all are, as in another call, or those alone that are `tracked`.
        """
        captured = self.captured_with_history()
        without = [k for k, has_history in zip(self.inputs, self.tracked) if tracked and not has_history]
        return [*captured, *self.leaves.difference(without)]

    def _constant(self, thing: Any, value: Any) -> int:
        check_order_of_bytes(value)
        self.constants.append(thing)
        row = self.append(CONSTANT, len(self.constants) - 1, -1, None, later(value), depth=3)
        if type(thing) in NUMBERS:
            self.plain[row] = thing
        return row

    def operand(self, x: Any) -> int:
        """The number of an operand, whatever it is."""
        if isinstance(x, (np.ndarray, Tensor)):
            return self.capture(x)
        return self.number(x) if type(x) in (int, float, bool, complex) else self._constant(x, x)

    def apply(self, op: Op, numbers: tuple[int, ...], params: dict[str, Any], depth: int = 1) -> int:
        """Evaluate an op on records, and append its record."""
        z = self.evaluate(op, [self.values[k] for k in numbers], numbers, params)
        return self.append_op(op, numbers, params, z, depth + 1)

    def append_op(self, op: Op, numbers: tuple[int, ...], params: dict[str, Any], z: Any, depth: int = 1) -> int:
        """Append the record of an op on records, which gives z."""
        if params or len(numbers) > 2 or op.variadic:
            if "dtype" in params:
                check_order_of_bytes(z)
            number = self.append(op.code, -1, -1, (numbers, {**op.params, **params}), z, depth + 1)
        else:
            x, y = numbers if len(numbers) == 2 else (numbers[0], -1)
            number = self.append(op.code, x, y, None, z, depth + 1)
        return number

    def outputs(self, number: int) -> list[int]:
        """Append records of the results, one by one, of a record with several."""
        results = enumerate(self.values[number])
        return [self.append(OUTPUT.code, -1, -1, ((number,), {"i": i}), z, depth=2) for i, z in results]

    def evaluate(self, op: Op, values: Sequence[Any], numbers: Sequence[int], params: dict[str, Any]) -> Any:
        """What an op gives of the values of some records: large arrays later, if that can be foreseen."""
        if self.tensors and not op.complex and any(map(is_complex, values)):
            raise not_for_complex(op)
        try:
            if Later in map(type, values):
                z = foreseen(op, values, params)
                if z is not None:
                    return z
                values = [self.value(k) for k in numbers]
                return later(evaluated(op, values, params))
            return given_now(op, values, params)
        except Exception as error:
            self.failed = self.failed or may_raise(op) or isinstance(error, OF_NUMBERS)
            if isinstance(error, ValueError):
                raise misfit(op, values, error) from None
            raise

    def value(self, row: int) -> Any:
        """What a record gave, computed now if it was to be computed later."""
        found = self.values[row]
        if type(found) is not Later:
            return found
        try:
            return self.computing.value(self, row) if found.value is None else found.value
        except Exception:
            self.failed = True
            raise

    def guard(self, row: int, what: str, depth: int = 1) -> Any:
        """What Python is told of a record's value; replays verify that it is the same."""
        value = self.value(row)
        seen = value.copy("K") if isinstance(value, np.ndarray) else value
        self.guards.append(Guard(row, seen, what, *self.where(depth + 1)))
        if not isinstance(seen, np.ndarray):
            return seen
        lent = seen.copy("K")
        self.lent.append(weakref.ref(lent))
        return lent


@contextmanager
def draft() -> Iterator[Trace]:
    """A list of what this library computes meanwhile, to which nothing is appended afterwards."""
    trace = Trace()
    with trace.recording():
        yield trace
    trace.open = False


_DATA: Any = Tensor.__dict__["_data"]


def check_order_of_bytes(value: Any) -> None:
    """Raise unless a value lies in memory as the machine's own numbers do, which is how kernels read them.

    Raises:
        Untraceable: if it does not.
    """
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) and not dtype.isnative:
        raise Untraceable(f"it computes with numbers of dtype {dtype.str!r}, whose order of bytes is not the machine's")


def value_in(thing: Any) -> Any:
    """The value of an array or tensor, whatever a tensor stands for while it is recorded."""
    return _DATA.__get__(thing) if isinstance(thing, Tensor) else thing


def is_tracked(thing: Any) -> bool:
    """Whether something is a tensor that requires grad."""
    return isinstance(thing, Tensor) and thing._node is not None


NUMBERS = (int, float, bool, complex)


NUMBER = spec_of(np.float64(0.0))


def spec_for(value: Any) -> Spec:
    """The spec of a value; a plain number counts as an array scalar."""
    kind = type(value)
    if kind is np.float64 or kind is float:
        return NUMBER
    return spec_of(value if hasattr(value, "dtype") else np.asarray(value))
