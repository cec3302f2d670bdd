"""A program: a function recorded once, to be replayed at new inputs."""

from __future__ import annotations

import ctypes
import os
import warnings
from _thread import get_ident
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.arguments import Arguments
from ops.core.bundle import Bundle

from ..base.locks import kept, new_lock
from ..base.rooms import opened
from ..base.spec import Spec
from ..base.tensor import Face, Tensor
from ..base.tree import leaves_of, transform
from ..base.untraced import paused
from ..numpy.arrays.face import array, face
from ..numpy.arrays.leaving import recording
from ..numpy.arrays.unwrapping import bare, holds_face
from ..recording.level import Layer, live
from ..recording.numpy_bridge import outline
from ..recording.recorder import wrap
from ..recording.wengert import current
from .adjoints.derive import adjoint_of, tangent_of
from .capture.labels import difference, misplaced, parameters_of, taken
from .capture.laid_results import lay_out, layout_of
from .capture.record_call import record_call
from .capture.required import require_function, require_options
from .capture.results import PYTHON, TENSOR, WITHOUT_AXES, Results
from .capture.signature import gives_tensors, is_varying, of_numbers, take_apart
from .entries.shortcut import Shortcut
from .files import file
from .files.container import unpacked
from .native import Native
from .plans.replay import Refitted, Replay, making
from .recorded.guards import GuardMissed
from .recorded.listing import Listing
from .recorded.raising import flags_of
from .recorded.reach import idle, unreached
from .recorded.trace import CONSTANT, INPUT, is_tracked
from .shortening.alarms import with_alarms
from .shortening.passes import shorten
from .show.display import Display

REPLAY = REGISTRY["replay"]


class Program(Native, Display):
    """A function as a list of records: what `tape.record` gives, and what `tape.compile` keeps.

    A program is called like the function: arrays in give arrays out, tensors in give tensors out,
    which take part in differentiation.  It is immutable, and several threads may call it at once.

    Attributes:
        recorded: the list as it was recorded.
        guards: what must hold for a replay to be right.
        counter: how often it ran, in memory where entries count too.
        missed: how often a guard did not hold.
        unsaid: of compiled functions, the kinds of floating-point errors of which no call has warned so far; `alarms`
            is how often in a row the function was called for one, and did not warn.
        ignored: records, as they were recorded, and the kinds that are ignored there.
        historic: whether it is for tensors that require grad, where gradients are recorded, as when it was recorded.
        unvarying: the kinds that recording made, and no replay does: of numbers that are the same in every call.
        said: the kinds that were told, and need not be again while Python's filters are what they were then, and these.
        most_memory: the most bytes that a replay may take for its own arrays, None for as many as there are.
        recording_bytes: the most bytes of large arrays that were held at once while it was recorded.
        parameters: the arguments of the function, after which the inputs are called.
        layout: how arguments must lie in memory, where the numbers depend on it (`layout_of`); None if they may lie
            anyhow.  Results lie as the recorded ones did.

    >>> import tape
    >>> program = tape.record(lambda x: (x * x).sum(), tape.tensor([1.0, 2.0]))
    >>> len(program), program(tape.tensor([3.0, 4.0]))
    (3, tensor(25.))
    """

    def __init__(
        self,
        recorded: Listing,
        results: Results | None,
        key: Hashable = None,
        tier: str | None = None,
        threads: int | None = None,
        parameters: Arguments | None = None,
        most_memory: int | None = None,
    ):
        self.parameters, self.most_memory = parameters, most_memory
        self.recorded, self.results, self.tier, self.threads = recorded, results, tier, threads
        self.key, self.layouts = of_numbers(key), results.layouts if results is not None else ()
        self.guards = list(recorded.guards)
        self.count, self.historic = recorded.results, False
        self.layout: Any = None
        self.counter, self.flags = ctypes.c_int64(0), ctypes.c_int64(0)
        self._unsaid = 0
        self.ignored: list[tuple[range, int]] = []
        self._error_checks: dict[int, Any] = {}
        self.said: tuple[int, list[Any]] | None = None
        self.missed = self.recording_bytes = self.alarms = self.unvarying = 0
        constants = map(recorded.constant, np.flatnonzero(recorded.code == CONSTANT).tolist())
        tensors = {id(c): c for c in constants if isinstance(c, Tensor)}
        self.captures = tuple([t for t in tensors.values() if t._node is not None])
        self.without_history = tuple([t for t in tensors.values() if t._node is None])
        self.mixed = results is not None and not all(kind == TENSOR for kind in results.kinds)
        self.plain = not self.captures and not gives_tensors(key) and not (results and any(results.kinds))
        self._lock = new_lock()
        self._derived: dict[Any, tuple[Program, Any]] = {}
        self._still: dict[tuple[bool, ...], frozenset[int]] = {}
        self._shortcut = Shortcut()
        self._native: Any = None

    @kept
    def listing(self) -> Listing:
        """The list after the passes."""
        with paused(), making("its list"):
            return shorten(with_alarms(self.recorded) if self.unsaid else self.recorded)

    @kept
    def replay(self) -> Replay:
        """The list made ready to run."""
        with paused(), making("its steps"):
            return Replay(self.listing, self.tier, self.threads, self.most_memory, self.guards)

    @kept
    def _idle(self) -> frozenset[int]:
        """The operands to which no gradient flows from any result: a replay has no history because of them."""
        return idle(self.recorded, self.captures, self.count)

    @property
    def unsaid(self) -> int:
        return self._unsaid

    @unsaid.setter
    def unsaid(self, kinds: int) -> None:
        self._unsaid, self.flags.value = kinds, flags_of(kinds)

    def say(self, kinds: int) -> None:
        """Errors of these kinds were told, once for as long as Python's filters stay what they are."""
        self.said = kinds | (self.said[0] if self.said else 0), [*warnings.filters]
        self.unsaid &= ~kinds

    def learn_what_is_heard(self) -> None:
        """Look no more for the kinds of errors that are ignored wherever they may be made."""
        if self.ignored:
            self.unsaid &= opened("tape.program.error_check").heard_kinds(self.recorded, self.ignored)

    def rules_out_errors(self, given: Sequence[Any], kinds: int) -> bool:
        """Whether the function cannot have warned of errors of some kinds, which a replay made."""
        if kinds not in self._error_checks:
            self._error_checks[kinds] = opened("tape.program.error_check").error_check(
                self.recorded, self.ignored, kinds
            )
        check = self._error_checks[kinds]
        return check is not None and check.rules_out([value_of(x) for x in given[: self.recorded.inputs]])

    @property
    def tells(self) -> bool:
        """Whether every call has an error to tell that its replay does not make."""
        return bool(self.unvarying & self._unsaid)

    def heed_filters(self) -> bool:
        """Let what was told be told again if Python's filters are others now; whether replays make all that is told."""
        said = self.said
        if said is not None and warnings.filters != said[1]:
            self.said, self.unsaid = None, self.unsaid | said[0]
        return not self.tells

    @property
    def input_specs(self) -> list[Spec]:
        """Shapes and dtypes of what varies in the arguments."""
        recorded = self.recorded
        rows = {int(recorded.param[k]): int(recorded.spec[k]) for k in np.flatnonzero(recorded.code == INPUT)}
        return [recorded.specs[rows[i]] for i in range(recorded.inputs)]

    def __len__(self) -> int:
        return len(self.listing)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay at new arguments, which must have the structure, shapes and dtypes of the recorded ones.

        Raises:
            TypeError: if they have not, or lie otherwise in memory where what is given depends on that.
            GuardMissed: if the function would have taken another path.
        """
        if self._shortcut.entry is not None:
            found = self._shortcut.entry(args, kwargs)
            if found is not NotImplemented:
                return found
        return self.general(args, kwargs)

    def general(self, args: Any, kwargs: Any) -> Any:
        """A call that takes the general way, past the entry."""
        if holds_face(leaves_of((args, kwargs))):
            return self._on_faces(args, kwargs)
        call = take_apart(args, kwargs)
        given = taken(call, self.key, self.recorded)
        if given is None:
            raise TypeError(difference(self.key, call.key))
        self._check_layout(given)
        results = self.run(given, (args, kwargs))
        if given is call.given:
            self._shortcut.look(self, call.key, (args, kwargs), as_they_lie=self.layout is not None)
        return results

    def _check_layout(self, given: Sequence[Any]) -> None:
        """Raise unless arguments lie in memory as those that were recorded did, where that matters.

        Raises:
            TypeError: if they do not.
        """
        if self.layout is not None and layout_of(given) != self.layout:
            raise TypeError(misplaced(self.layout is True))

    def _on_faces(self, args: Any, kwargs: Any) -> Any:
        """A call with arrays that something outside records."""
        outlines = transform(lambda x: outline(x._tensor) if isinstance(x, Face) else x, (args, kwargs))
        call = take_apart(*outlines)
        if taken(call, self.key, self.recorded) is None:
            raise TypeError(difference(self.key, call.key))
        self._check_layout(call.given)
        assert self.results is not None
        given = [bare(x) for x in leaves_of((args, kwargs)) if isinstance(x, Face) or is_varying(x, False)]
        outputs = REPLAY(*given, *self.captures, program=self)
        kinds = self.results.kinds
        return self.results.build([z if kind == TENSOR else _face(z, kind) for z, kind in zip(outputs, kinds)])

    def run(self, given: Sequence[Any], arguments: Any = ()) -> Any:
        """`__call__` with what varies in the arguments, and these themselves for who may get tuples in them back."""
        assert self.results is not None
        if self.without_history and any(t._node is not None for t in self.without_history):
            raise Refitted("a captured tensor required no grad when it was recorded, and requires it now")
        if self.historic and any(t._node is None for t in self.captures):
            raise Refitted("a captured tensor required grad when it was recorded, and requires none now")
        if self.plain:
            return self.results.build(list(map(unboxed, self.untracked(given))), given, arguments)
        tracked = bool(self.captures) or any(map(is_tracked, given))
        if (tracked and current().recording) or any(isinstance(live(x), Layer) for x in (*given, *self.captures)):
            outputs = self._recorded([*given, *self.captures])
            if self.mixed:
                outputs = [z if kind == TENSOR else untensored(z, kind) for z, kind in zip(outputs, self.results.kinds)]
            return self.results.build(outputs, given, arguments)
        values = self.untracked(given)
        outputs = [given_back(z, kind) for z, kind in zip(values, self.results.kinds)]
        return self.results.build(outputs, given, arguments)

    def untracked(self, given: Sequence[Any]) -> list[Any]:
        """The results as arrays, where nothing of the replay is recorded."""
        return self.verified(given) if self.plain else self.evaluate(given)

    def _without_gradient(self, given: Sequence[Any]) -> frozenset[int]:
        """Which results no gradient reaches from the inputs that have a history."""
        tracked = tuple([isinstance(x, Tensor) and (x._node is not None or isinstance(live(x), Layer)) for x in given])
        found = self._still.get(tracked)
        if found is None:
            found = self._still[tracked] = unreached(self.recorded, tracked, self.captures, self.count)
        return found

    def evaluate(self, xs: Sequence[Any]) -> list[Any]:
        """The results for inputs that are arrays or tensors, as arrays, after the guards have been verified."""
        return self.verified([value_of(x) for x in xs[: self.recorded.inputs]])

    def verified(self, xs: Sequence[Any]) -> list[Any]:
        """The results for inputs that are arrays, after the guards have been verified."""
        self.counter.value += 1
        try:
            values = self.replay(xs, self.counter.value)
        except GuardMissed:
            self.missed += 1
            raise
        return lay_out(values, self.layouts) if self.layouts else values

    def expect(self, given: Sequence[Any]) -> None:
        """Let the guards expect what the kernels give for the inputs that were recorded, where they round otherwise."""
        if any(np.asarray(guard.seen).dtype.kind in "fc" for guard in self.guards):
            self.replay([value_of(x) for x in given], expecting=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file, from which `tape.load` reads it.

        The file holds the list as it was recorded; captured tensors and arrays as the values they have now.

        Raises:
            TypeError: if there is something in it that a file cannot hold: a file holds numbers, strings, arrays,
                dtypes, slices, and tuples, lists and dicts of them.

        >>> import os, tape, tempfile
        >>> program = tape.record(lambda x: (x * x).sum(), tape.tensor([1.0, 2.0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     program.save(os.path.join(folder, "square.tape"))
        ...     again = tape.load(os.path.join(folder, "square.tape"))
        >>> again(tape.tensor([3.0, 4.0]))
        tensor(25.)
        """
        file.save(self, path)

    def __reduce__(self) -> Any:
        """The bytes of its file; so pickles and deep copies hold what a file holds, and no code."""
        return from_bytes, (file.to_bytes(self),)

    def __copy__(self) -> Program:
        """A program that shares what this one captured, and counts its replays anew."""
        program = Program(
            self.recorded, self.results, self.key, self.tier, self.threads, self.parameters, self.most_memory
        )
        program.guards, program.layout = list(self.guards), self.layout
        return program

    # The adjoint and the tangent of a program are programs, and have adjoints and tangents.

    def vjp(self, g: Bundle, xs: Sequence[Any], wanted: tuple[int, ...]) -> list[Any]:
        """Adjoints of the operands; None where none is wanted, or no output with a weight depends on the operand."""
        weights = {i: g[i] for i in range(self.count) if g[i] is not None}
        program, reached = self._derive(
            ("vjp", wanted, tuple(weights)),
            lambda: adjoint_of(self.recorded, self.captures, xs, wanted, weights),
        )
        found = dict(zip(wanted, program.outputs((*xs, *weights.values())) if reached else ()))
        return [found.get(i) if i in reached else None for i in range(len(xs))]

    def jvp(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[Any, ...]:
        """Tangents of the results."""
        moving = {i: t for i, t in enumerate(x_dots) if t is not None}
        program, _ = self._derive(
            ("jvp", tuple(moving)), lambda: (tangent_of(self.recorded, self.captures, self.count, xs, moving), ())
        )
        return tuple(program.outputs((*xs, *moving.values())))

    def outputs(self, xs: Sequence[Any]) -> Any:
        """The results for operands that are arrays or, recording, tensors."""
        if not any(isinstance(x, Tensor) for x in xs):
            return self.evaluate(xs)
        return self._recorded(xs)

    def _recorded(self, xs: Sequence[Any]) -> list[Any]:
        """The results as a replay whose history is recorded; those that depend on no tensor with one have none."""
        if self._idle:
            xs = [x.detach() if i in self._idle and isinstance(x, Tensor) else x for i, x in enumerate(xs)]
        outputs, still = REPLAY(*xs, program=self), self._without_gradient(xs)
        return [z.detach() if i in still else z for i, z in enumerate(outputs)]

    def _derive(self, key: Any, make: Callable[[], tuple[Listing, Any]]) -> tuple[Program, Any]:
        found = self._derived.get(key)
        if found is None:
            with self._lock:
                found = self._derived.get(key)
                if found is None:
                    listing, reached = make()
                    program = Program(listing, None, None, self.tier, self.threads, most_memory=self.most_memory)
                    found = self._derived[key] = program, reached
        return found


def from_bytes(whole: bytes) -> Program:
    """The program whose file has these bytes.

    Raises:
        ProgramFileError: if they are damaged, or are no program's.
    """
    return file.program_of(*unpacked(whole), Program)


def value_of(x: Any) -> Any:
    """An input as an array or a number of NumPy's."""
    return x._data if isinstance(x, Tensor) else np.float64(x) if type(x) is float else x


def given_back(z: Any, kind: int) -> Any:
    """An output, which is an array or a number, as what the function itself gave."""
    if kind == WITHOUT_AXES:
        return np.asarray(z)
    value = unboxed(z)
    return wrap(value) if kind == TENSOR else value.item() if kind == PYTHON else value


def untensored(z: Tensor, kind: int) -> Any:
    """An output that is a tensor as the array or number that the function itself gave.

    That is still recorded where the function read what a derivative around the call is taken with respect to.
    """
    is_recorded = isinstance(live(z), Layer) or (z._node is not None and get_ident() in recording)
    return _face(z, kind) if is_recorded else given_back(z.numpy(force=True), kind)


def _face(z: Tensor, kind: int) -> Any:
    return array(z) if kind == WITHOUT_AXES else face(z)


def unboxed(z: Any) -> Any:
    """A result as NumPy would give it: an array without axes as a number."""
    return z[()] if type(z) is np.ndarray and not z.ndim else z


def record(
    function: Callable[..., Any], *args: Any, tier: str | None = None, threads: int | None = None, **kwargs: Any
) -> Program:
    """Record one call of a function as a `Program`.

    Args:
        function: takes and returns arrays, tensors, numbers, and tuples, lists and dicts of them.
        args, kwargs: an example of its arguments.  Arrays, tensors and floats may have other values in a
            replay; everything else, and the shapes and dtypes, are those of the example, and so is how results lie
            in memory.
        tier: ``"interpret"`` compiles nothing, ``"quick"`` little, ``"optimised"`` as well as LLVM can; by default
            the first of them, and the next when it has run so often that compiling would have paid.
        threads: how many threads share large work; by default as many as there are processors.

    Raises:
        Untraceable: if the function does something that a list cannot repeat.
        TypeError, ValueError: if it is not a function that returns its result, or the options are others.

    >>> import numpy as np, tape
    >>> program = record(lambda x, y: x * y + 1.0, np.ones(2), np.ones(2))
    >>> program(np.array([2.0, 3.0]), np.array([10.0, 10.0]))
    array([21., 31.])
    """
    require_function(function, "tape.record")
    require_options(tier, threads)
    call = take_apart(args, kwargs)
    recorded = record_call(function, args, kwargs, call.given, fixed_floats=False)
    program = Program(recorded.listing, recorded.results, call.key, tier, threads, parameters_of(function))
    program.recording_bytes = recorded.computed
    program.layout = recorded.layout if recorded.ordered else None
    program.expect(call.given)
    return program
