"""The memory of tensors: looking at it with other strides, and putting other memory under a tensor."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np

import ops
from ops.shapes.strides import dense, spacing

from ..base.tensor import Tensor, Theme
from ..recording.calls import adaptor, sizes_of
from ..recording.creation import construct
from ..recording.inference import check_changeable
from ..recording.leaf import leaf
from ..recording.version import holders, increment
from ..recording.views import base_of, is_related, materialise, owner, owners, twin
from ..recording.wengert import LISTS
from .grad_and_data import put_under
from .rebase import check_free, is_tracked


def storage_of(tensor: Tensor) -> tuple[np.ndarray, int]:
    """All numbers of the memory that a tensor looks at, in order, and where its first one is."""
    return memory_of(materialise(tensor))


def memory_of(array: np.ndarray) -> tuple[np.ndarray, int]:
    """All numbers of the memory that an array looks at, in order, and where its first one is."""
    memory = owner(array)
    whole = memory if memory.flags.c_contiguous else memory.T if memory.flags.f_contiguous else None
    flat = (array.ravel() if whole is None else whole.reshape(-1)).view(array.dtype)
    shares = whole is not None or np.may_share_memory(array, flat)  # of what is empty NumPy says that it does not
    return flat, (array.ctypes.data - flat.ctypes.data) // array.itemsize if shares else 0


def place_in(origin: np.ndarray, array: np.ndarray, lanes: int) -> tuple[int, int, tuple[int, ...]] | None:
    """Where an array and its view begin, and the strides, as in `Placement`; None if it does not lie in order."""
    if origin.dtype != array.dtype:
        return None
    if not lanes:
        strides = tuple([s // array.itemsize for s in array.strides])
        return (memory_of(origin)[1], memory_of(array)[1], strides) if origin.flags.c_contiguous else None
    apart = [(x.shape[:lanes], x.strides[:lanes]) for x in (origin, array)]
    if apart[0] != apart[1] or not array.size or dense(origin) is None:
        return None
    first: Any = (*(0,) * lanes, ...)
    whole, part = origin[first], array[first]
    step = spacing(whole)
    if step is None:
        return None
    start = part.ctypes.data - whole.ctypes.data
    fits = 0 <= start < step * whole.size and not any(s % step for s in (start, *part.strides))
    return (0, start // step, tuple([s // step for s in part.strides])) if fits else None


LARGER: dict[int, np.ndarray] = {}
"""All numbers of the memory of tensors that were resized to fewer, by their identity: they may grow into it again."""


def _remember(tensor: Tensor) -> None:
    """Note the memory of a tensor that is about to look at less of it, unless it is noted."""
    if is_related(tensor) or _whole(tensor) is not None:
        return
    k, array = id(tensor), materialise(tensor)
    if array.flags.c_contiguous:
        if k not in LARGER:
            weakref.finalize(tensor, LARGER.pop, k, None).atexit = False
        LARGER[k] = array.reshape(-1)


def _whole(tensor: Tensor) -> np.ndarray | None:
    """All numbers of the memory of a tensor that looks at fewer since it was resized."""
    known = LARGER.get(id(tensor))
    return known if known is not None and owner(tensor._data) is owner(known) else None


def _is_held(tensor: Tensor) -> bool:
    """Whether arrays share the memory of a tensor; records that saved it go on with it if the tensor gets another."""
    data = tensor._data
    if not isinstance(data, np.ndarray):
        return False
    others = holders(lambda: tensor._data) - 2
    if data.base is not None and others > 0 and others > _times_saved(data):
        return True
    memory = owner(data)
    others = holders(lambda: memory) - 2 - (data is memory) - (_whole(tensor) is not None)
    return others > 0 and others > _times_saved(memory)


def _times_saved(array: np.ndarray) -> int:
    """How often records hold an array; all of them are gone through, so who knows of no other holder does not ask."""
    held = [value for wengert in list(LISTS.values()) for value in wengert.rows]
    held += [part for value in held if type(value) is tuple for part in value]
    return sum([value is array for value in held])


class Storage:
    """The memory that a tensor looks at, or a part of: whose it is, and how much.

    >>> import tape
    >>> x = tape.zeros(2, 3)
    >>> len(x[1].storage()), x[1].untyped_storage().nbytes()
    (6, 48)
    >>> x[1].storage().data_ptr() == x.storage().data_ptr()
    True
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: np.ndarray):
        self._memory = memory

    def data_ptr(self) -> int:
        """Where the memory begins."""
        return int(self._memory.ctypes.data)

    def nbytes(self) -> int:
        """Number of bytes."""
        return self._memory.nbytes

    def size(self) -> int:
        """Number of elements; of bytes where it is untyped."""
        return self._memory.size

    __len__ = size

    def tolist(self) -> list[Any]:
        """The elements, in the order of the memory."""
        return self._memory.tolist()

    def __repr__(self) -> str:
        return f"Storage({self.size()} of {self._memory.dtype} at {self.data_ptr():#x})"


class StorageMethods(Theme):
    """The memory under a tensor."""

    __slots__ = ()

    def storage(self) -> Storage:
        """The memory that the tensor looks at, in elements of its dtype."""
        return Storage(storage_of(self)[0])

    def untyped_storage(self) -> Storage:
        """The memory that the tensor looks at, in bytes."""
        return Storage(storage_of(self)[0].view(np.uint8))

    def storage_offset(self) -> int:
        """How many elements lie before the first one in the tensor's memory."""
        return storage_of(self)[1]

    def set_(self, source: Any = None) -> Tensor:
        """Put the memory of another tensor under this one, which keeps whether it requires grad; none without a source.

        Raises:
            RuntimeError: where the tensor has a history, or the source another dtype.

        >>> import tape
        >>> x = tape.zeros(3)
        >>> x.set_(tape.ones(2))
        tensor([1., 1.])
        """
        if source is None:
            source = leaf(np.empty(0, self.dtype))
        if not isinstance(source, Tensor):
            raise TypeError(f"set_() takes a tensor; got {type(source).__name__}. Convert it with tape.as_tensor().")
        check_changeable(self, "set_()")
        if is_tracked(self, ()):
            check_free(self, "set_()")
            raise RuntimeError(
                "set_() cannot be recorded: the history of this tensor is that of its value. Use .detach()."
            )
        if source.dtype != self.dtype:
            raise RuntimeError(f"set_() needs a source of the tensor's dtype, {self.dtype}; got {source.dtype}")
        put_under(self, materialise(source), source._spec)
        twin(source, self)
        increment(self, "set_()")
        return self

    def resize_(self, *sizes: Any, memory_format: Any = None) -> Tensor:
        """Give the tensor other ``sizes``: it goes on with the numbers of its memory, and zeros behind them.

        Raises:
            RuntimeError: for a tensor that requires grad, and where views or arrays would have to grow with it.

        >>> import tape
        >>> tape.arange(4.0).resize_(2, 3)
        tensor([[0., 1., 2.],
                [3., 0., 0.]])
        """
        shape = sizes_of(sizes)
        check_changeable(self, "resize_()")
        if self.requires_grad and not self._inference:
            raise RuntimeError(
                "cannot resize variables that require grad: the gradient would have another shape.\nMake a new tensor "
                "of the size that you need, or resize a clone of x.detach()."
            )
        if shape == self._spec.shape:
            return self
        size, base = math.prod(shape), base_of(self)
        room = storage_of(base)[1] + base._spec.size - storage_of(self)[1]
        if size <= room:
            _remember(self)
            if shape:
                return self.as_strided_(shape, [math.prod(shape[k + 1 :]) for k in range(len(shape))])
        known = _whole(self)
        if known is not None and size <= known.size and not is_related(self):
            put_under(self, known[:size].reshape(shape))  # without axes an array too, which shares the memory
            increment(self, "resize_()")
            return self
        if size <= room:
            return self.as_strided_(shape, [])
        if is_related(self) or len(owners(self)) > 1 or _is_held(self):
            raise RuntimeError(
                f"resize_() would need {size} numbers where there is memory for {room}, and memory that other tensors "
                "or arrays look at cannot grow.\nMake a new tensor, such as tape.empty(sizes), or resize a clone()."
            )
        array = np.zeros(size, self.dtype)
        numbers = materialise(self).ravel(order="K") if (whole := _whole(self)) is None else whole
        array[: numbers.size] = numbers
        put_under(self, array.reshape(shape))
        increment(self, "resize_()")
        return self

    def resize_as_(self, other: Tensor, *, memory_format: Any = None) -> Tensor:
        """`resize_` to the sizes of another tensor."""
        return self.resize_(other._spec.shape)

    def new(self, *args: Any, device: Any = None) -> Tensor:
        """A tensor of this one's dtype: of zeros if ``args`` are sizes, else of the given numbers."""
        return leaf(construct(self.dtype, args), device=device)


@adaptor
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with other sizes and strides, counted in elements.

    Args:
        storage_offset: where in the memory the view begins; where the tensor does if it is left out.

    Raises:
        RuntimeError: if it would reach beyond the memory of the tensor, or of the one that it is a view of.

    >>> import tape
    >>> tape.arange(4.0).as_strided((3, 2), (1, 1))
    tensor([[0., 1.],
            [1., 2.],
            [2., 3.]])
    """
    shape, strides = sizes_of((size,)), sizes_of((stride,))
    if len(shape) != len(strides) or min((0, *shape, *strides)) < 0:
        raise RuntimeError(
            f"as_strided() needs a stride of 0 or more for each size; got sizes {shape} and strides {strides}"
        )
    reach = sum((n - 1) * s for n, s in zip(shape, strides))
    for origin, begin, start, _ in input._placements():
        offset = (start if storage_offset is None else int(storage_offset)) - begin
        if 0 in shape:
            return ops.as_strided(origin, size=shape, stride=strides, offset=min(max(offset, 0), origin._spec.size))
        if 0 <= offset < origin._spec.size - reach:
            return ops.as_strided(origin, size=shape, stride=strides, offset=offset)
    raise RuntimeError(
        f"as_strided() of sizes {shape} with strides {strides} can access memory outside of `tensor`: counted from "
        f"where it begins it would read element {reach}; the tensor has {input._spec.size}, and its base is no larger "
        "or is not in order.\nUse smaller sizes, or call it on the tensor that holds them all, or on a clone()."
    )
