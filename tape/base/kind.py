"""What the kinds of tensors have to tell each other: one interface, which every kind of tensor implements.

There are plain tensors, those of a transformation (batched under `vmap`, dual in forward mode), those of a function
that is being recorded, and ordinary ones that such a function finds around itself.  The library calls the methods
below, and asks for nothing else, wherever it matters what kind a tensor is.  What a plain tensor answers is in
`tape.memory.eager`; where that is "nothing special" it is the default here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ops import Op, Operators
from ops.core.axis_order import Order

if TYPE_CHECKING:
    from .tensor import Tensor


class Placement(NamedTuple):
    """How a tensor lies among the elements of another, or of itself, that lie in memory in row-major order.

    Attributes:
        origin: the tensor that these are the elements of.
        begin, start: where in the memory the origin begins, and the tensor.
        strides: the tensor's own.
    """

    origin: Tensor
    begin: int
    start: int
    strides: tuple[int, ...]


class TensorKind(Operators):
    """A kind of tensor, as the library sees it.

    A change in place comes in steps: an operand may make the target one of its own kind (`_adopt`), the target says
    whether it may be changed (`_check_free`), a new value is computed as if nothing were changed, and put in its place
    (`_assign`).
    """

    __slots__ = ()

    # Applying ops.

    @staticmethod
    def __bind__(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """The op applied to operands of which at least one is of this kind; `ops` calls it (see `ops.Op`)."""
        raise NotImplementedError

    def _index_reader(self) -> Callable[[Any, Any], Any] | None:
        """``read(x, index)``, for an index that this tensor is part of, where it cannot be read by its numbers."""
        return None

    def _with_lanes(self, made: Tensor) -> Tensor:
        """A tensor that was made after the shape of this one, with as many lanes."""
        return made

    # Derivatives.

    _differentiate: ClassVar[Callable[..., list[Any]] | None] = None
    """How gradients are taken where a tensor of this kind is involved, unless by a sweep of the list.

    ``_differentiate(reverse, outputs, weights, inputs, retain, create, unused)`` gives those of the inputs, where
    ``reverse`` of the same arguments gives those of the tensors below.
    """

    def _check_histories(self, tensors: Sequence[Any]) -> None:
        """Raise if some of the tensors between which gradients are asked for have histories that cannot be joined."""

    def _carries_gradient(self) -> bool:
        """Whether a gradient would be lost if the numbers left the history."""
        raise NotImplementedError

    def _may_have_history(self) -> bool:
        """Whether a tensor that is recorded may have, in some call, a history that arrays have not."""
        return False

    def _lacks_history(self) -> bool:
        """Whether a tensor that is recorded has no history in the calls that it is recorded for."""
        return False

    def _seek(self, sought: bool) -> None:
        """A gradient with respect to this tensor is taken of what a function computes from here on, or no more."""

    def _moves(self) -> bool:
        """Whether the tensor carries a tangent."""
        return False

    def _refuse_recording(self, what: str) -> None:
        """Raise if the tensor is of a function that is being recorded, and which has just done `what`."""

    def _has_known_layout(self) -> bool:
        """Whether it is known how the tensor lies in memory."""
        return True

    def _leave_layout_open(self) -> None:
        """It is not known how eager execution lays the tensor, so the user's code is not to be told of it."""

    def _is_of_class_of(self, operands: Sequence[Tensor]) -> None:
        """NumPy makes an array of the class that all the operands have, if it is one."""

    def _stand_for_view(self, whole: Tensor) -> None:
        """Note that this is a copy where the user's code has a view of another tensor."""

    def _tell_layout(self) -> None:
        """How the tensor lies in memory has been told to the user's code."""

    def _tell_owner(self) -> None:
        """Whose memory it is, and who may write into it, has been told to the user's code."""

    # Memory.

    def _memory(self) -> Any:
        """What it shares with all that look at the same memory, and with nobody else: the base of its views."""
        raise NotImplementedError

    def _lookers(self) -> tuple[Any, list[tuple[Any, Any]]] | None:
        """What it is a view of, at last, and whatever looks at that, with the steps of each look.

        None if it cannot be said of all of them.
        """
        return None

    def _check_shown(self, view: Tensor) -> bool:
        """Whether what is to be a view of this tensor in another shape is one; if not, it will be if made again.

        Raise if it is a copy, as far as that is known.  If nobody else holds memory that does not lie in row-major
        order, it is put in that order.
        """
        return True

    def _components(self) -> Iterator[Any]:
        """The ordinary tensors that it is made of: itself, or the parts of its layers."""
        yield self

    def _lie(self, order: Order) -> None:
        """Lie in memory in an order of the axes, as what a function has just made."""

    def _steps(self) -> tuple[int, ...] | None:
        """How far it is in memory from one entry to the next, along each axis; None if that is not known."""
        return None

    def _is_shared(self) -> bool:
        """Whether something beside this tensor holds its memory: a view, an array, a record."""
        raise NotImplementedError

    def _placements(self, lanes: int = 0) -> Iterator[Placement]:
        """How a tensor lies in itself and in its base, where these are in order.

        With so many axes of `lanes` in front: how each lane does, counted from where the lane of the origin begins.
        """
        raise NotImplementedError

    def _with_own_memory(self) -> Tensor:
        """The same tensor, which no change of this one's memory reaches."""
        raise NotImplementedError

    def _pinned(self) -> Tensor:
        """A tensor that stays in its place in the history when this one is changed in place."""
        raise NotImplementedError

    # In place.

    def _adopt(self, target: Tensor) -> bool:
        """Whether this tensor has made another one, into which it is to be written, one of its own kind.

        Raises:
            RuntimeError: if it would have to, and cannot.
        """
        return False

    def _moving(self, target: Tensor) -> Tensor:
        """A tensor that does not move, as one that moves at the levels of this one, with tangents of zeros."""
        return target

    def _check_free(self, operation: str) -> None:
        """Raise if changing the tensor in place, while that is recorded, would have no meaning.

        Raises:
            RuntimeError: for a leaf that requires grad or a view of one, and for views that do not know how they were
                made.
        """
        raise NotImplementedError

    def _alter(
        self, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
    ) -> Tensor:
        """Put ``compute(self, *args, **named)`` in the place of the value, recorded if a gradient may flow; itself.

        `tape.recording.functionalising` does it in the three steps; kinds say how each of these is done.
        """
        raise NotImplementedError

    def _before_change(self) -> Tensor:
        """The tensor as what is computed for its own change reads it; called right before that is computed."""
        return self  # type: ignore[return-value]

    def _assign(self, result: Tensor, operation: str, last: int) -> None:
        """Put a result that was computed after record `last` in the place of the value and the history."""
        raise NotImplementedError

    def _overwritten(self, op: Op, value: Any) -> Tensor:
        """The tensor with all elements overwritten by a value, as the op says of the old value and the new one."""
        return op(self, value)

    def _repeats(self) -> bool:
        """Whether several elements are one and the same number in memory, which then is written once."""
        return False

    def _write_at(self, index: Any, value: Any) -> bool:
        """Whether a value could be written at an index into the memory itself, past the other elements, and was."""
        return False

    def _read(self, index: Any) -> Any:
        """What is at an index that is more than one integer; what is picked lies in memory as NumPy has it."""
        raise NotImplementedError

    def _with_value_at(self, index: Any, value: Any) -> Tensor:
        """A new tensor: this one with a value put at an index."""
        raise NotImplementedError

    def _become(self, operation: str, compute: Callable[[], Tensor]) -> None:
        """Become the view of itself that `compute` gives, of another shape, on the same memory."""
        raise NotImplementedError
