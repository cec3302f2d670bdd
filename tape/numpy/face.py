"""The array face: a recorded value that behaves as NumPy's ndarray does.

A tensor is PyTorch's: ``x.size()`` is a method, ``x.max(0)`` a pair.  A function that was written for arrays meets an
`Array` instead, which holds a tensor and answers with NumPy's names and semantics.  Both are faces of the same records
on the same list, so whatever a tensor can be (plain, batched, with a tangent, being recorded) an array can be too.

The rule: **arrays in, arrays inside, arrays out; tensors in, tensors inside, tensors out.**  A mixture counts as
tensors.  `isinstance(x, np.ndarray)` is true for an `Array`, and a `Number` is what NumPy's scalars are: a value
without axes that nobody can write into.  C code asks for the type itself and is not deceived: it has to convert, which
`leaving` allows or refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..recorder import wrap
from ..tensor import Face, Tensor
from ..tree import transform
from .leaving import value_of

new = object.__new__


class Array(Face):
    """What a function of arrays gets in the place of an array while it is differentiated or recorded.

    It has the attributes, methods and operators of `numpy.ndarray`, and NumPy's functions take it.  Functions get one
    from `tape.func`, `tape.compile` and the like; `tape.numpy` makes them too.

    >>> import numpy as np, tape
    >>> def f(x):
    ...     y = np.zeros(2)
    ...     y[:] = x * x
    ...     return y.sum() / x.size
    >>> tape.func.grad(f)(np.array([1.0, 2.0]))
    array([1., 2.])
    """

    __slots__ = ()

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return np.ndarray


class Number(Face):
    """An array without axes that cannot be written into, as NumPy's scalars are: ``x[0]``, ``x.sum()``."""

    __slots__ = ()

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return self._tensor._spec.dtype.type


def face(tensor: Tensor) -> Any:
    """The face of a tensor: a number if it has no axes."""
    made = new(Array if tensor._spec.shape else Number)
    made._tensor = tensor
    return made


def array(tensor: Tensor) -> Any:
    """The face of a tensor as an array, also without axes."""
    made = new(Array)
    made._tensor = tensor
    return made


def faces(result: Any, face: Callable[[Tensor], Any] = face) -> Any:
    """A result with its tensors as faces, in tuples, lists and dicts too."""
    if isinstance(result, Tensor):
        return face(result)
    if type(result) is dict:
        return {name: faces(part, face) for name, part in result.items()}
    if type(result) is list or isinstance(result, tuple):
        made = [faces(part, face) for part in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def bare(x: Any) -> Any:
    """An argument with its faces as tensors, in tuples, lists, dicts and slices too."""
    kind = type(x)
    if kind is Array or kind is Number:
        return x._tensor
    if kind is tuple or kind is list:
        return kind([bare(part) for part in x])
    if kind is dict:
        return {name: bare(part) for name, part in x.items()}
    if kind is slice:
        return slice(bare(x.start), bare(x.stop), bare(x.step))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*[bare(part) for part in x])
    return x


def has_tensor(x: Any) -> bool:
    """Whether there is a tensor among the arguments, beside the faces: a mixture counts as tensors."""
    if isinstance(x, (tuple, list)):
        return any(map(has_tensor, x))
    if type(x) is dict:
        return any(map(has_tensor, x.values()))
    return isinstance(x, Tensor)


def tensor_of(x: Any) -> Tensor:
    """The tensor of anything that NumPy would make an array of: it shares memory where it can."""
    if isinstance(x, Face):
        return x._tensor
    if isinstance(x, Tensor):
        return x
    return wrap(np.asarray(x))


def plain(x: Any, what: str = "reading its numbers") -> Any:
    """Something with its faces as plain arrays and numbers, which must not carry a gradient."""
    if isinstance(x, Face):
        return value_of(x, what)
    if isinstance(x, (tuple, list)):
        made = [plain(part, what) for part in x]
        return type(x)(*made) if hasattr(x, "_fields") else type(x)(made)
    return {k: plain(v, what) for k, v in x.items()} if type(x) is dict else x


def stop_gradient(x: Any) -> Any:
    """The same numbers, through which no gradient and no tangent flows: of an array, a tensor, or a tree of them.

    >>> import numpy as np, tape
    >>> tape.func.grad(lambda x: x * tape.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return transform(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else _stopped(leaf), x)


def _stopped(x: Any) -> Any:
    return type(x)._of(x._tensor.detach()) if isinstance(x, Face) else x
