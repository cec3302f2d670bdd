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

from ...base.spec import OF_FACES
from ...base.tensor import Tensor
from ...base.tree import LEAVES, transform
from .array_methods import ArraysAlone, Changes, Reductions, Shapes
from .conversions import Conversions, Index
from .face_base import FACES
from .indexable import NoSequence

new = object.__new__


class Recorded(Shapes, Conversions, Reductions):
    """What arrays and numbers have in common.

    The rooms that know both give them what is asked by Python and NumPy: `reading` and `writing` the indexing,
    `operators` the operators, `dispatch` the answers to NumPy's functions.
    """

    __slots__ = ()

    @staticmethod
    def _array(tensor: Tensor) -> Any:
        return array(tensor)

    @staticmethod
    def _face(tensor: Tensor) -> Any:
        return face(tensor)


class Array(Index, Changes, ArraysAlone, Recorded):
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

    __hash__ = None  # type: ignore[assignment]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    @property
    def _is_array(self) -> bool:
        return True


class AnyNumber(Recorded):
    """A value without axes that cannot be written into: what NumPy's numbers and Python's have in common.

    Programs tell numbers from arrays by what these have, so what only some have is only in the classes of those:
    no number has a length, an iterator or ``@``, and integers alone count.
    """

    __slots__ = ()

    @property
    def _is_array(self) -> bool:
        return False

    def __hash__(self) -> int:
        return hash(self._tensor.item())


class Number(NoSequence, AnyNumber):
    """What NumPy's scalars are: ``x[0]``, ``x.sum()``."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self._tensor._spec.dtype.type


class Whole(Index, Number):
    """An integer of NumPy's, by which Python counts."""

    __slots__ = ()


OF_FACES.extend((Array, Number, Whole))
FACES.update(OF_FACES)
LEAVES.update(FACES)


OF_TENSORS: dict[type[Tensor], Callable[[Any], Any]] = {}
"""By the class of a tensor without axes, what makes a number of it where that is of a kind of its own."""


def face(tensor: Tensor) -> Any:
    """The face of a tensor: a number if it has no axes."""
    spec = tensor._spec
    if not spec.shape:
        of_its_kind = OF_TENSORS.get(type(tensor))
        if of_its_kind is not None:
            return of_its_kind(tensor)
    made: Any = new(OF_FACES[spec.face])
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


def stop_gradient(x: Any) -> Any:
    """The same numbers, through which no gradient and no tangent flows: of an array, a tensor, or a tree of them.

    >>> import numpy as np, tape
    >>> tape.func.grad(lambda x: x * tape.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return transform(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else _stopped(leaf), x)


def _stopped(x: Any) -> Any:
    return x._like(x._tensor.detach()) if isinstance(x, Recorded) else x
