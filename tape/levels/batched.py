"""Batched tensors: what they are, answer, refuse and write, where it is not what any tensor does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import ops
from ops import Op
from ops.algebra.sparse import yielding
from ops.core.batching import LanesDiffer
from ops.core.batching_index import SLOT, is_array, parts_of
from ops.shapes.index import is_plain

from ..base.errors import note
from ..base.kind import Placement
from ..base.spec import Spec, spec
from ..base.tensor import STATE, Tensor
from ..recording.level import Layer, innermost, live, read, requires_grad
from ..recording.recorder import wrap

if TYPE_CHECKING:
    from .batch import Batch


class Batched(Layer):
    """A tensor that stands for one in each lane; its shape is that of one lane.

    Its numbers cannot be read, because they differ from lane to lane.  When its level has been left, it is the tensor
    below.
    """

    __slots__ = ()

    _level: Batch

    def over(self, change: Callable[[Any], Any]) -> Any:
        return batched(change(live(self._primal)), self._level)

    @property
    def _spec(self) -> Spec:  # type: ignore[override]
        below = self._primal._spec
        return spec(below.shape[1:], below.dtype) if self._level.alive else below

    @property
    def _data(self) -> Any:
        if not self._level.alive:
            return self._primal._data
        raise hidden("This function reads the numbers of a tensor")

    def __repr__(self) -> str:
        if not self._level.alive:
            return repr(self._primal)
        return f"batched({self._primal!r}, lanes={self._level.n})"

    # Of its memory it says what the tensor below says, or what is true of every lane.

    @property
    def _version(self) -> int:
        return self._primal._version

    @property  # type: ignore[misc]
    def grad_fn(self) -> Any:
        return self._primal.grad_fn

    def _is_view(self) -> bool:
        return self._primal._is_view()

    def is_inference(self) -> bool:
        return self._primal.is_inference()

    def data_ptr(self) -> int:
        return self._primal.data_ptr()

    def contiguous(self, memory_format: Any = None) -> Tensor:
        return batched(self._primal.contiguous(memory_format), self._level)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the memory of every lane is in row-major order."""
        below = self._primal
        if not self._level.alive or not self._level.n:
            return below.is_contiguous(memory_format)
        return below.detach()[0].is_contiguous(memory_format)

    def stride(self, dim: int | None = None) -> Any:
        steps = self._primal.stride()[1:] if self._level.alive else self._primal.stride()
        return steps if dim is None else steps[dim]

    # How gradients flow.

    def detach(self) -> Tensor:
        """A tensor on the same memory, outside the history."""
        return batched(self._primal.detach(), self._level)

    def detach_(self) -> Tensor:
        self._primal.detach_()
        return self

    @property  # type: ignore[misc]
    def data(self) -> Tensor:
        """The same memory without history."""
        return batched(self._primal.data, self._level)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        if requires_grad and self._primal._node is None and self._level.alive:
            raise RuntimeError(
                "vmap: requires_grad_() is called on a tensor within the function that is mapped.\nUse tape.func.grad, "
                "vjp or jacrev there, or call requires_grad_() before vmap."
            )
        self._primal.requires_grad_(requires_grad)
        return self

    def backward(self, *args: Any, **kwargs: Any) -> None:
        if not self._level.alive:
            return self._primal.backward(*args, **kwargs)
        raise RuntimeError(
            "backward() called inside a function that vmap maps, where .grad would be added to once for all lanes.\n"
            "Use tape.func.grad or vjp there, or call backward() on what vmap returns."
        )

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Any:
        """The hook gets batched gradients too, of as many lanes."""
        kind, n = type(self._level), self._level.n

        def below(g: Tensor) -> Any:
            with kind(n) as level:
                result = hook(level.layer(g))
                return None if result is None else level.parts(result)[0]

        return Tensor.register_hook(self._primal, below)

    # What the library asks of every kind of tensor, see `tape.base.kind`.

    def _with_lanes(self, made: Tensor) -> Tensor:
        below = super()._with_lanes(made)
        return self._level.layer(ops.clone(self._level.full(below))) if self._level.alive else below

    def _index_reader(self) -> Any:
        return read if isinstance(live(self), Layer) else None

    def _placements(self, lanes: int = 0) -> Iterator[Placement]:
        """How each lane lies in memory; where lanes do not lie apart and in order, as if in a copy that does."""
        below, level = live(self._primal), self._level
        if not level.alive:
            yield from below._placements(lanes)
            return
        found = [place._replace(origin=level.layer(place.origin)) for place in below._placements(lanes + 1)]
        shape = self._spec.shape[lanes:]
        in_order = tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])
        yield from found or [Placement(self, 0, 0, in_order)]

    def _adopt(self, target: Tensor) -> bool:
        """Raise, because a tensor that is the same in all lanes cannot hold what differs from lane to lane."""
        if innermost((self,)) is None:
            return False
        raise RuntimeError(
            "vmap: inplace arithmetic is not possible here: a value that differs from lane to lane "
            f"({self._level.n} of them) is written into a tensor of shape {target._spec.shape} that is the same in all "
            "of them.\nWrite it as a new value, such as y = y + x, or make the tensor with zeros_like(x) or "
            "x.new_zeros(…), which has lanes."
        )

    def _assign(self, result: Any, operation: str, last: int) -> None:
        """The tensor below is written, so what views of it see is right too."""
        result = result if isinstance(result, Tensor) else wrap(np.asarray(result)[()])
        if result._spec.shape != self._spec.shape:
            result = ops.broadcast_to(result, shape=self._spec.shape)
        level = innermost((result,))
        if level is not None and level.depth > self._level.depth:
            if level.moves and result._adopt(self):  # this is the primal of a tensor that moves from now on
                self._assign(result, operation, last)
                return
            raise RuntimeError(
                "a value of an inner transformation is written into a tensor of an outer one, which would lose what "
                "the inner one knows of it.\nWrite it as a new value, such as y = y + x instead of y += x."
            )
        below, has_lanes = self._level.parts(result)
        below = below if has_lanes else self._level.full(below)
        held = live(self._primal)
        if not isinstance(below, Layer) or isinstance(held, Layer):
            held._assign(below, operation, last)
        elif held._is_shared():
            held.copy_(below)  # which makes it one with such layers, a tangent or lanes of another map, or refuses it
        else:
            self._primal = ops.clone(below)

    def _overwritten(self, op: Op, value: Any) -> Tensor:
        """The value itself where it fits: it is copied when it is put in its place."""
        fits = isinstance(value, Tensor) and value._spec is self._spec
        return value if fits else op(self, value)

    def _write_at(self, index: Any, value: Any) -> bool:
        """Write at a plain index into all lanes at once, if the value has lanes of this level or none.

        So a loop that fills an array does not copy it in each iteration.
        """
        level = self._level
        if not level.alive:
            return live(self)._write_at(index, value)
        if not is_plain(index):
            return False
        value = value if isinstance(value, Tensor) else wrap(np.asarray(value)[()])
        below, has_lanes = level.parts(value)
        missing = self.ndim - sum(not isinstance(p, slice) for p in parts_of(index)) - value.ndim
        if innermost((value,)) not in (None, level) or missing < 0:
            return False
        if not has_lanes and level.lifting and requires_grad(value):
            return False
        if has_lanes and missing:
            n, *shape = below._spec.shape
            below = ops.reshape(below, shape=(n, *(1,) * missing, *shape))
        live(self._primal)[(slice(None), *parts_of(index))] = below
        return True

    def _become(self, operation: str, compute: Callable[[], Tensor]) -> None:
        if self._level.alive:
            self._primal = compute()._primal  # type: ignore[attr-defined]
        else:
            live(self)._become(operation, compute)


def form_of(index: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """The form of an index (see `ops.shapes.places`), and its arrays; masks without lanes as the numbers they mean."""
    form: list[Any] = []
    arrays: list[Any] = []
    for part in map(live, index):
        if not is_array(part):
            form.append(part)
            continue
        if not isinstance(part, Layer) and not (isinstance(part, Tensor) and part._index_reader()):
            value = part._data if isinstance(part, Tensor) else np.asarray(part)
            numbers = np.nonzero(value) if value.dtype == np.bool_ else (value,)
            arrays += numbers
            form += [SLOT] * len(numbers)
        else:
            arrays.append(part)
            form.append(SLOT)
    return tuple(form), arrays


def hidden(what: str) -> LanesDiffer:
    """The error where a single number is wanted of a batched tensor."""
    return LanesDiffer(
        f"vmap: {what} that differ from lane to lane, as in data-dependent control flow or .item().\n"
        "Choose with tape.where(condition, x, y) in the place of `if`, and compute with tensors in the place of "
        "numbers; or call the function in a loop."
    )


def batched(x: Tensor, level: Batch) -> Batched:
    """The tensor whose lanes lie along the first axis of another."""
    made: Batched = object.__new__(Batched)
    made._primal, made._level = x, level
    return made


class Gained(Batched):
    """A buffer that got lanes when something that differs from lane to lane was written into it.

    If it was made outside of the function that is mapped, a loop would have left the last lane in it, and nobody who
    looks at it there expects all of them: once its level has been left it cannot be read.
    """

    __slots__ = ()

    @property
    def _primal(self) -> Tensor:
        if not self._level.alive:
            raise RuntimeError(
                "vmap: an array from outside of the function that is mapped was written there with values that differ "
                "from lane to lane, and is used after vmap has returned.\nMake the array within the function, and "
                "return it."
            )
        held: Tensor = self.__dict__["_primal"]
        return held

    @_primal.setter
    def _primal(self, value: Tensor) -> None:
        self.__dict__["_primal"] = value


def gained(x: Tensor, level: Batch) -> Gained:
    """A buffer whose lanes lie along the first axis of a tensor."""
    made: Gained = object.__new__(Gained)
    made._primal, made._level = x, level
    return made


def _mirror(name: str) -> property:
    """An attribute that a batched tensor shares with the one below."""
    return property(lambda self: getattr(self._primal, name), lambda self, value: setattr(self._primal, name, value))


for _name in STATE:
    if _name not in vars(Batched):
        setattr(Batched, _name, _mirror(_name))


def _refusal(name: str, what: str) -> Callable[..., Any]:
    def refuse(self: Batched, *args: Any, **kwargs: Any) -> Any:
        if not self._level.alive:
            return getattr(self._primal, name)(*args, **kwargs)
        raise note(hidden(what))

    refuse.__name__ = name
    return yielding(refuse) if name == "__array__" else refuse


for _name, _what in {
    "__bool__": "this asks for the truth of numbers", "item": "item() on a Tensor takes out numbers",
    "tolist": ".tolist() takes out numbers", "__float__": "float() takes out numbers",
    "__int__": "int() takes out numbers", "__complex__": "complex() takes out numbers",
    "__index__": "this counts, or indexes, by numbers", "__contains__": "`in` compares numbers",
    "numpy": ".numpy() takes out numbers", "__array__": "NumPy asks for numbers",
}.items():  # fmt: skip
    setattr(Batched, _name, _refusal(_name, _what))
