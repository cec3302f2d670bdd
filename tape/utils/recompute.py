"""A call whose saved values are computed again when backward asks for them.

The call runs with a pair of hooks that keep nothing but the number, shape and dtype of each value.
When one is asked for, the call runs again, with a pair that keeps them all; what is asked for is
then taken out one by one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ops.core.registry import OPS

from .. import random
from ..backprop.backward import BackwardTask
from ..base.location import locate
from ..base.row import CODE, LASTI, OP, X, Y
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..history.rule_values import at_leaf
from ..recording.guard import GUARDS, Guarded, Guards
from ..recording.packing import Packed, PackHooks, pairs_of, with_pair
from ..recording.recorder import wrap
from ..recording.recording_modes import enable_grad
from ..recording.version import count
from ..recording.wengert import current, operands

KEPT = Guards()
"""What checkpoints keep of memory that may be changed in place."""


class CheckpointError(RuntimeError):
    """A checkpointed function did not compute the same again."""


class Enough(BaseException):
    """Everything that is needed has been computed again; not an Exception, so that no program catches it."""


class FrameValue(NamedTuple):
    """Which value of a frame is meant."""

    frame: Frame
    number: int


class Saved(NamedTuple):
    """What is remembered of a value: what it was, and the opcode and line of the record that needs it.

    The arguments of a checkpoint within the call are needed by no record.
    """

    spec: Spec
    opcode: int | None = None
    code: CodeType | None = None
    lasti: int = 0

    def __str__(self) -> str:
        if self.opcode is None or self.code is None:
            return f"{self.spec}, an argument of a checkpoint within"
        return f"{self.spec}, needed by {OPS[self.opcode].name} at {locate(self.code, self.lasti)}"


class Argument:
    """A tensor among the arguments, as it was when the call began."""

    __slots__ = ("_held", "_ref", "_same")

    def __init__(self, tensor: Tensor):
        outer = pairs_of(current())
        self._ref: Any = tensor if tensor._node is True else tensor._node
        self._same = weakref.ref(tensor)
        # An outer checkpoint computes it again rather than keep it.
        away = outer and tensor._node is not True
        if away and outer[-1].note:
            outer[-1].note(())
        self._held: Any = Packed(tensor._data, outer[-1]) if away else KEPT.guard(tensor)

    def get(self) -> Tensor:
        """The tensor itself, if it is still there and what it was, or the value at its place in the history."""
        held, ref, same = self._held, self._ref, self._same()
        if type(held) is Packed:
            return wrap(held.open(), ref)
        if same is not None and held.value is same._data and (same is ref or same._node == ref):
            return same
        value = held.value.copy() if held.copied else held.value
        return at_leaf(ref, value) if isinstance(ref, Tensor) else wrap(value, ref)

    def is_leaf(self, tensor: Tensor) -> bool:
        """Whether this is that leaf."""
        return self._ref is tensor


class Frame:
    """One checkpointed call.

    Attributes:
        saved: what is remembered of each value, in the order in which they were saved.
        leaves: the leaves that were read, and how often each had been changed.
        place: the opcode and line of the record that is about to be appended.
        values: for each backward, the values that were computed again and not yet used, by number.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        again: AbstractContextManager[Any],
        check: bool,
        early_stop: bool,
        preserve_rng: bool,
    ):
        if KEPT not in GUARDS:
            GUARDS.append(KEPT)
        self.function, self.args, self.kwargs = function, args, kwargs
        self.again, self.check, self.early_stop = again, check, early_stop
        self.kept: list[Argument] = []
        self.packed = _mapped((args, kwargs), self._keep)
        self.states = random_states() if preserve_rng else None
        self.saved: list[Saved] = []
        self.leaves: dict[int, tuple[Tensor, int]] = {}
        self.values: WeakKeyDictionary[BackwardTask, dict[int, Guarded]] = WeakKeyDictionary()
        self.place: tuple[Any, ...] = ()

    def _keep(self, x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        self.kept.append(Argument(x))
        return self.kept[-1]

    def run(self) -> Any:
        """The call itself."""
        args, kwargs = self.args, self.kwargs
        self.args, self.kwargs = (), {}
        wengert = current()
        wengert.entangled = True  # rows hold this frame, which holds arguments
        before = wengert.extend
        try:
            wengert.extend = with_pair(wengert, PackHooks(self.remember, self.get, self.note))
            return self.function(*args, **kwargs)
        finally:
            wengert.extend = before

    def note(self, row: Sequence[Any]) -> None:
        """Look at a row that is about to be appended; an empty one stands for an argument of a checkpoint within."""
        if not row:
            self.place = ()
            return
        self.place = row[OP], row[CODE], row[LASTI]
        for ref in operands(row[X], row[Y]):
            if isinstance(ref, Tensor) and id(ref) not in self.leaves:
                self.leaves[id(ref)] = ref, count(ref)

    def remember(self, x: Tensor) -> FrameValue:
        """What is kept for a value: nothing of it."""
        self.saved.append(Saved(x._spec, *self.place))
        return FrameValue(self, len(self.saved) - 1)

    def get(self, place: FrameValue) -> Tensor:
        """A value, computed again with all others when the first is asked for."""
        task = current().task or BackwardTask((), None)
        if place.number not in self.values.get(task, ()):
            self.values[task] = self.recompute()
        values = self.values[task]
        guarded = values.pop(place.number)
        if not values:
            del self.values[task]
        return wrap(guarded.value)

    def recompute(self) -> dict[int, Guarded]:
        """Run the call again; its values by number."""
        self.check_leaves()
        collector = Collector(self.saved, self.early_stop)
        args, kwargs = _mapped(self.packed, lambda x: x.get() if isinstance(x, Argument) else x)
        present = random_states() if self.states else None
        try:
            set_random_states(self.states)
            with self.again, enable_grad():
                collector.run(lambda: self.function(*args, **kwargs))
        finally:
            set_random_states(present)
        collector.check_number()
        if self.check:
            collector.check_specs()
        return collector.values

    def check_leaves(self) -> None:
        """Raise if the call would read other numbers than the first time.

        Raises:
            CheckpointError: if a leaf that is not among the arguments was changed in place.
        """
        for leaf, version in self.leaves.values():
            if count(leaf) != version and not any(x.is_leaf(leaf) for x in self.kept):
                raise CheckpointError(
                    f"a leaf of shape {leaf._spec.shape} that a checkpointed function reads was changed in place since "
                    "the function ran, so it would compute other values now.\nCall backward() before the change, or "
                    "pass the leaf as an argument: checkpoint(function, leaf)."
                )


class Collector:
    """Keeps the values of a call that runs again.

    Attributes:
        values: what was saved, by number.
    """

    def __init__(self, saved: Sequence[Saved], early_stop: bool):
        self.saved, self.early_stop = saved, early_stop
        self.values: dict[int, Guarded] = {}
        self.number = 0

    def run(self, call: Callable[[], Any]) -> None:
        """Run a call as far as its values are needed."""
        wengert = current()
        before = wengert.extend
        try:
            wengert.extend = with_pair(wengert, PackHooks(self.collect, _present))
            call()
        except Enough:
            pass
        finally:
            wengert.extend = before

    def collect(self, x: Tensor) -> weakref.ref[Guarded]:
        """Keep a value as it is now; the row that it is saved for, which nobody will sweep, does not."""
        guarded = KEPT.guard(x)
        self.values[self.number] = guarded
        self.number += 1
        if self.early_stop and self.number == len(self.saved):
            raise Enough
        return weakref.ref(guarded)

    def check_number(self) -> None:
        """Raise if the call has saved more or fewer values than the first time."""
        if self.number == len(self.saved):
            return
        line = f"\nThe first one missing: {self.saved[self.number]}" if self.number < len(self.saved) else ""
        raise CheckpointError(
            "A different number of tensors was saved during the original forward and recomputation: "
            f"{len(self.saved)} and {self.number}.{line}\nA checkpointed function must do the same when it runs again; "
            "look for what it reads that changes, such as a counter or a generator of random numbers."
        )

    def check_specs(self) -> None:
        """Raise if a value has another shape or dtype than the first time."""
        found = [_spec(guarded.value) for guarded in self.values.values()]
        pairs = enumerate(zip(self.saved, found))
        wrong = [f"\n  value {i}: {new} instead of {old}" for i, (old, new) in pairs if old.spec != new]
        if wrong:
            raise CheckpointError(
                "Recomputed values for the following tensors have different metadata than during the forward pass:"
                f"{''.join(wrong)}\nA checkpointed function must do the same when it runs again; "
                "determinism_check='none' leaves this check out."
            )


def _present(reference: weakref.ref[Guarded]) -> Tensor:
    """A value for a backward that the call itself runs."""
    guarded = reference()
    if guarded is None:
        raise CheckpointError(
            "a backward goes through what a checkpointed function has computed again, and not through its result.\n"
            "Differentiate what checkpoint() returned, or what the function computes within the function."
        )
    return wrap(guarded.value)


def _spec(value: Any) -> Spec:
    return wrap(value)._spec


def _mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists and dicts with their leaves changed."""
    if isinstance(tree, dict):
        return type(tree)((k, _mapped(x, change)) for k, x in tree.items())
    if isinstance(tree, (tuple, list)):
        parts = [_mapped(x, change) for x in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return change(tree)


States = tuple[Any, Any]


def random_states() -> States:
    """Where the generators are: tape's, and the one behind NumPy's functions."""
    return random.current().bit_generator.state, np.random.get_state()  # noqa: NPY002


def set_random_states(states: States | None) -> None:
    """Put the generators where they were."""
    if states is not None:
        random.current().bit_generator.state = states[0]
        np.random.set_state(states[1])  # noqa: NPY002
