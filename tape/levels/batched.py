"""What batched tensors answer, refuse and write, where it is not what any tensor does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ops
from ops.algebra.sparse import yielding
from ops.core.batching_index import parts_of
from ops.core.op import shape_of
from ops.shapes.index import is_plain

from ..base.tensor import Tensor
from ..history.hooks import register_hook
from ..history.reachability import components, requires_grad
from ..memory import restriding
from ..memory.rebase import last_of
from ..memory.storage import Lies
from ..recording.functions import FUNCTIONS
from ..recording.indexing import LayeredIndex, plain_index
from ..recording.level import Layer, innermost, live
from ..recording.recorder import wrap
from ..recording.wengert import current
from .batch import Batch, Batched, batched, form_of, hidden


def _mirror(name: str) -> property:
    """An attribute that a batched tensor shares with the one below."""
    return property(lambda self: getattr(self._primal, name), lambda self, value: setattr(self._primal, name, value))


for _name, _value in vars(Tensor).copy().items():
    _is_state = _name.startswith("_") and not _name.startswith("__") and not callable(_value)
    if _is_state and not isinstance(_value, property) and _name not in vars(Batched):
        setattr(Batched, _name, _mirror(_name))


def _refusal(what: str) -> Callable[..., Any]:
    def refuse(self: Batched, *args: Any, **kwargs: Any) -> Any:
        if not self._level.alive:
            return getattr(self._primal, refuse.__name__)(*args, **kwargs)
        raise hidden(what)

    return refuse


for _name, _what in {
    "__bool__": "this asks for the truth of numbers", "item": "item() on a Tensor takes out numbers",
    "tolist": ".tolist() takes out numbers", "__float__": "float() takes out numbers",
    "__int__": "int() takes out numbers", "__complex__": "complex() takes out numbers",
    "__index__": "this counts, or indexes, by numbers", "__contains__": "`in` compares numbers",
    "numpy": ".numpy() takes out numbers", "__array__": "NumPy asks for numbers",
}.items():  # fmt: skip
    _method = _refusal(_what)
    _method.__name__ = _name
    setattr(Batched, _name, yielding(_method) if _name == "__array__" else _method)


def _detach(self: Batched) -> Tensor:
    """A tensor on the same memory, outside the history."""
    return batched(self._primal.detach(), self._level)


def _detach_(self: Batched) -> Tensor:
    self._primal.detach_()
    return self


def _data(self: Batched) -> Tensor:
    """The same memory without history."""
    return batched(self._primal.data, self._level)


def _requires_grad_(self: Batched, requires_grad: bool = True) -> Tensor:
    if requires_grad and self._primal._node is None and self._level.alive:
        raise RuntimeError(
            "vmap: requires_grad_() is called on a tensor within the function that is mapped.\nUse tape.func.grad, vjp "
            "or jacrev there, or call requires_grad_() before vmap."
        )
    self._primal.requires_grad_(requires_grad)
    return self


def _backward(self: Batched, *args: Any, **kwargs: Any) -> None:
    if not self._level.alive:
        return self._primal.backward(*args, **kwargs)
    raise RuntimeError(
        "backward() called inside a function that vmap maps, where .grad would be added to once for all lanes.\nUse "
        "tape.func.grad or vjp there, or call backward() on what vmap returns."
    )


def _register_hook(self: Batched, hook: Callable[[Tensor], Any]) -> Any:
    """The hook gets batched gradients too, of as many lanes."""
    n = self._level.n

    def below(g: Tensor) -> Any:
        with Batch(n) as level:
            result = hook(level.layer(g))
            return None if result is None else level.parts(result)[0]

    return register_hook(self._primal, below)


def _is_contiguous(self: Batched) -> bool:
    """Whether the memory of every lane is in row-major order."""
    below = self._primal
    return below.is_contiguous() if not self._level.alive or not self._level.n else below.detach()[0].is_contiguous()


def _stride(self: Batched, dim: int | None = None) -> Any:
    steps = self._primal.stride()[1:] if self._level.alive else self._primal.stride()
    return steps if dim is None else steps[dim]


def _lies(self: Batched, lanes: int = 0) -> Iterator[Lies]:
    """How each lane lies in memory; where lanes do not lie apart and in order, as if in a copy that does."""
    below, level = live(self._primal), self._level
    if not level.alive:
        yield from below.__lies__(lanes)
        return
    found = [lies._replace(origin=level.layer(lies.origin)) for lies in below.__lies__(lanes + 1)]
    shape = self._spec.shape[lanes:]
    in_order = tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])
    yield from found or [Lies(self, 0, 0, in_order)]


def _of_below(name: str) -> property:
    """What a batched tensor says of its memory is what the tensor below says."""
    return property(lambda self: getattr(self._primal, name))


def _contiguous(self: Batched) -> Tensor:
    return batched(self._primal.contiguous(), self._level)


for _name in ("_version", "_is_view", "is_inference", "data_ptr", "grad_fn"):
    setattr(Batched, _name, _of_below(_name))
for _name, _change in {
    "contiguous": _contiguous, "is_contiguous": _is_contiguous, "stride": _stride, "detach": _detach,
    "detach_": _detach_, "data": property(_data), "requires_grad_": _requires_grad_,
    "backward": _backward, "register_hook": _register_hook, "__lies__": _lies,
}.items():  # fmt: skip
    setattr(Batched, _name, _change)


# In place: the tensor below is written, so what views of it see is right too.


def _put(target: Batched, result: Any, operation: str, last: int) -> Batched:
    """Write a result that was computed after record `last` into a batched tensor's memory."""
    result = result if isinstance(result, Tensor) else wrap(np.asarray(result)[()])
    if result._spec.shape != target._spec.shape:
        result = ops.broadcast_to(result, shape=target._spec.shape)
    level = innermost((result,))
    if level is not None and level.depth > target._level.depth:
        raise RuntimeError(
            "a value of an inner transformation is written into a tensor of an outer one, which would lose what the "
            "inner one knows of it.\nWrite it as a new value, such as y = y + x instead of y += x."
        )
    below, has_lanes = target._level.parts(result)
    below = below if has_lanes else target._level.full(below)
    held = live(target._primal)
    if isinstance(below, Layer) and not isinstance(held, Layer):
        _take_over(target, held, below)
    else:
        held.__assign__(below, operation, last)
    return target


def _take_over(target: Batched, held: Tensor, below: Tensor) -> None:
    """Let a batched tensor hold a value with more layers than its own: a tangent, or lanes of another map."""
    if held.__is_shared__():
        held.copy_(below)  # which makes it one with such layers, or refuses it
    else:
        target._primal = ops.clone(below)


def _alter(
    self: Batched, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Tensor:
    """Put what a function makes of a batched tensor in its place."""
    if not self._level.alive:
        return self._primal.__alter__(operation, compute, args, named)
    wengert = current()
    last = last_of(wengert)
    for part in components(self) if wengert.recording else ():
        if part._node is not None:
            part.__check_free__(operation)
    return _put(self, compute(self, *args, **named), operation, last)


def _inplace(compute: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """The method that does in place what a function computes."""

    def change(self: Batched, *args: Any, **named: Any) -> Tensor:
        if not self._level.alive:
            return getattr(self._primal, name)(*args, **named)
        return _alter(self, f"{name}()", compute, args, named)

    return change


def _copied(self: Batched, source: Any) -> Tensor:
    source = source if isinstance(source, Tensor) else wrap(np.asarray(source)[()])
    return source if source._spec.dtype == self._spec.dtype else ops.cast(source, dtype=self._spec.dtype)


def _set(self: Batched, index: Any, value: Any) -> Tensor:
    try:
        plain = plain_index(index, own=True)
    except LayeredIndex:
        return _with_values_at(self, index if isinstance(index, tuple) else (index,), value)
    return ops.index_put(self, value, index=plain)


def _set_lanes(self: Batched, index: Any, value: Any) -> bool:
    """Write at a plain index into all lanes at once, if the value has lanes of this level or none.

    So a loop that fills an array does not copy it in each iteration.
    """
    level = self._level
    if not level.alive or not is_plain(index):
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


def _setitem(self: Batched, index: Any, value: Any) -> None:
    if not _set_lanes(self, index, value):
        _inplace(_set, "__setitem__")(self, index, value)


def _with_values_at(x: Any, index: tuple[Any, ...], value: Any) -> Any:
    """A tensor with values put at an index that differs from lane to lane."""
    first = live(index[0])
    if len(index) == 1 and first.dtype == np.bool_ and not shape_of(value):
        mask = ops.reshape(first, shape=(*first._spec.shape, *(1,) * (x.ndim - first.ndim)))
        return ops.where(mask, value, x)
    form, arrays = form_of(index)
    return ops.overwrite(x, value, *arrays, form=form)


def _adopt(self: Batched, target: Tensor) -> bool:
    """Raise, because a tensor that is the same in all lanes cannot hold what differs from lane to lane."""
    if innermost((self,)) is None:
        return False
    raise RuntimeError(
        f"vmap: inplace arithmetic is not possible here: a value that differs from lane to lane ({self._level.n} of "
        f"them) is written into a tensor of shape {target._spec.shape} that is the same in all of them.\nWrite it as a "
        "new value, such as y = y + x, or make the tensor with zeros_like(x) or x.new_zeros(…), which has lanes."
    )


def _reshaped(compute: Callable[..., Any]) -> Callable[..., Tensor]:
    def change(self: Batched, *args: Any, **kwargs: Any) -> Tensor:
        self._primal = compute(self, *args, **kwargs)._primal
        return self

    return change


Batched.__adopt__ = _adopt  # type: ignore[attr-defined]
Batched.__assign__ = _put  # type: ignore[method-assign,assignment]
Batched.__alter__ = _alter
_ASSIGNING: dict[str, Callable[..., Any]] = {
    "copy_": _copied, "fill_": _copied, "zero_": lambda self: _copied(self, 0.0),
}  # fmt: skip
for _name, _compute in _ASSIGNING.items():
    setattr(Batched, _name, _inplace(_compute, _name))
setattr(Batched, "__setitem__", _setitem)  # noqa: B010  (it is declared nowhere)
for _name in restriding.NAMES:
    setattr(Batched, f"{_name}_", _reshaped(FUNCTIONS[_name]))
