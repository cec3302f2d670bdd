"""One call of a custom function: its forward run, and recorded if a gradient may flow."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..location import user_frame
from ..record import CUSTOM, LARGE, operand, output, wrap
from ..tensor import Tensor
from ..wengert import WengertList, current
from .context import in_user_code

if TYPE_CHECKING:
    from .function import Function

TENSOR = object()
"""Stands for a tensor among the arguments that a call keeps."""


class Call:
    """One call of ``apply``: the function and its arguments, but for the tensors, which are the op's operands.

    Attributes:
        results: what the last run returned, with TENSOR in the place of tensors.
        is_tuple: whether it returned a tuple.
    """

    __slots__ = ("args", "ctx", "function", "is_tuple", "results")

    def __init__(self, function: type[Function], args: tuple[Any, ...]):
        self.function, self.args = function, args
        self.ctx: Any = None
        self.results: tuple[Any, ...] = ()
        self.is_tuple = False

    def run(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Run forward; its results that are tensors, recorded if a gradient may flow."""
        function, wengert, rest = self.function, current(), iter(tensors)
        args = tuple([next(rest) if x is TENSOR else x for x in self.args])
        self.ctx = ctx = function._backward_cls(args, wengert.recording)
        with in_user_code(recording=False):
            if function._is_separate():
                result = function.forward(*args)
                function.setup_context(ctx, args, result)
            else:
                result = function._forward()(ctx, *args)
        self.is_tuple = isinstance(result, tuple)
        results = result if isinstance(result, tuple) else (result,)
        self.check(results, tensors)
        self.results = tuple([TENSOR if isinstance(x, Tensor) else x for x in results])
        return self.finish(wengert, tensors, results)

    def check(self, results: tuple[Any, ...], tensors: Sequence[Tensor]) -> None:
        """Raise if forward returned, or marked, what it cannot."""
        name = self.function.__name__
        for x in results:
            if isinstance(x, np.ndarray) or (isinstance(x, list) and any(isinstance(y, Tensor) for y in x)):
                raise TypeError(
                    f"{name}.forward must return a tensor or a tuple of them; got a {type(x).__name__}, through which "
                    "no gradient would flow.\nReturn tape.as_tensor(array), or a tuple in place of a list."
                )
        for x in self.ctx._dirty:
            if not any(x is y for y in tensors) or not any(x is y for y in results):
                raise RuntimeError(
                    f"mark_dirty() in {name}.forward names a tensor that is not both an input and an output.\nName "
                    "only inputs, and return each input that is changed in place."
                )

    def finish(self, wengert: WengertList, tensors: Sequence[Tensor], results: tuple[Any, ...]) -> tuple[Tensor, ...]:
        """The results that are tensors, as outputs of one record if a gradient may flow to the inputs."""
        ctx = self.ctx
        dirty, plain = ctx._dirty, ctx._plain
        ctx._outputs = tuple([x._spec if isinstance(x, Tensor) else None for x in results])
        flows = [isinstance(x, Tensor) and x._spec.inexact and not _among(x, plain) for x in results]
        ctx._settle(tensors, [x for x in results if isinstance(x, Tensor)])
        if not (wengert.recording and any(flows) and any(ctx.needs_input_grad)):
            return tuple([_alias(x, tensors, dirty) for x in results if isinstance(x, Tensor)])
        where = wengert.where or user_frame(sys._getframe(1))
        handle = append(wengert, tuple(map(operand, tensors)), ctx._values, ctx, where)
        ctx._recorded(handle)
        wengert.entangled |= ctx._entangled()
        made = []
        for i, (x, differentiable) in enumerate(zip(results, flows)):
            if differentiable:
                z = output(wengert, handle, i, x._data, *where)
                if _among(x, dirty):
                    x._node = z._node
                    z = x
                made.append(z)
            elif isinstance(x, Tensor):
                made.append(_alias(x, tensors, dirty))
        if handle > wengert.limit:
            wengert.scan()
        return tuple(made)

    def evaluate(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """The results that are tensors, as arrays, of arrays."""
        with in_user_code(recording=False):
            return tuple([z._data for z in self.run([wrap(np.asarray(x)[()]) for x in xs])])

    def jvp(self, xs: Sequence[Any], z: Sequence[Any], x_dots: Sequence[Any]) -> tuple[Any, ...]:
        """The rule of forward mode, for the last run."""
        return self.ctx.jvp(xs, z, x_dots)

    def name(self) -> str:
        return self.function._backward_cls.__name__


def append(wengert: WengertList, refs: tuple[Any, ...], values: Any, ctx: Any, where: tuple[Any, int]) -> int:
    """Append the record of a custom function; its handle."""
    handle = wengert.next()
    wengert.extend((handle, CUSTOM.code, refs, None, values, None, None, (ctx,), None, *where))
    nbytes = sum([v.nbytes for v in values or () if v is not None])
    if nbytes > LARGE:
        wengert.account(nbytes)
    return handle


def _among(x: Any, tensors: Sequence[Any]) -> bool:
    return any(x is y for y in tensors)


def _alias(x: Tensor, inputs: Sequence[Tensor], dirty: Sequence[Any]) -> Tensor:
    """A result without history: the tensor itself, unless it has one, or is an input that forward did not change."""
    return wrap(x._data) if x._node is not None or (_among(x, inputs) and not _among(x, dirty)) else x
