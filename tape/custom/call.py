"""One call of a custom function: its forward run, and recorded if a gradient may flow."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.row import CODE, LASTI
from ..base.tensor import Tensor
from ..memory.rebase import check_free, rebase
from ..recording.inference import cannot_be_saved
from ..recording.level import Layer, live
from ..recording.recorder import CUSTOM, LARGE, output, user_frame, wrap
from ..recording.views import CUSTOM as CUSTOM_VIEW, SEVERAL_CUSTOM, link, look_of, owner
from ..recording.wengert import EVER_INFERRED, WengertList, current
from .custom_vmap import apply_mapped
from .rules import BackwardCFunction

if TYPE_CHECKING:
    from .function import Function

TENSOR = object()
"""Stands for a tensor among the arguments that a call keeps."""


def run(
    function: type[Function], args: tuple[Any, ...], tensors: list[Tensor], named: Any = None, moving: bool = False
) -> tuple[BackwardCFunction, Any]:
    """Run forward on tensors and other things: its ctx, and its result, recorded if a gradient may flow.

    Arguments that are `named` go to forward as they are, and get no gradient.  Where something may be `moving`, the
    ctx knows which results are inputs as they are.
    """
    wengert = current()
    recording, where = wengert.recording, wengert.where
    ctx = function._backward_cls(args, tensors, recording)
    wengert.recording, wengert.where = False, None
    try:
        if function._is_separate():
            result = function.forward(*args)
            function.setup_context(ctx, args, result)
        elif named:
            result = function._forward()(ctx, *args, **named)
        else:
            result = function._forward()(ctx, *args)
    finally:
        wengert.recording, wengert.where = recording, where
    if moving:
        results = result if isinstance(result, tuple) else (result,)
        ctx._same = _places([x for x in results if isinstance(x, Tensor)], tensors)
    if isinstance(result, tuple):
        return ctx, tuple(record(ctx, wengert, tensors, result))
    if type(result) is Tensor and not ctx._dirty and not ctx._plain:
        return ctx, record_one(ctx, wengert, tensors, result)
    return ctx, record(ctx, wengert, tensors, (result,))[0]


def record_one(ctx: BackwardCFunction, wengert: WengertList, tensors: list[Tensor], x: Tensor) -> Tensor:
    """`record` for the usual case: one result, which is a tensor, and nothing marked."""
    spec = x._spec
    ctx._outputs = (spec,)
    is_recorded = wengert.recording and spec.inexact and True in ctx.needs_input_grad
    if is_recorded and EVER_INFERRED:
        _check_saved(ctx, wengert)
    ctx._settle(tensors, (x,))
    if not is_recorded:
        return _alias(x, tensors)
    return _seen_through(wrap(x._data, append(ctx, wengert, tensors, spec), spec), x, tensors)


def record(ctx: BackwardCFunction, wengert: WengertList, tensors: list[Tensor], results: tuple[Any, ...]) -> list[Any]:
    """The results, where they are tensors as outputs of one record if a gradient may flow to the inputs."""
    check(ctx, results, tensors)
    dirty, plain = ctx._dirty, ctx._plain
    found = [x for x in results if isinstance(x, Tensor)]
    ctx._dirty = tuple([(i, k) for i, k in _places(found, tensors) if _among(found[i], dirty)])
    ctx._plain = tuple([i for i, x in enumerate(found) if _among(x, plain)])
    ctx._outputs = tuple([x._spec if isinstance(x, Tensor) else None for x in results])
    flows = [spec is not None and spec.inexact and not _among(x, plain) for x, spec in zip(results, ctx._outputs)]
    is_recorded = wengert.recording and True in flows and True in ctx.needs_input_grad
    if is_recorded and EVER_INFERRED:
        _check_saved(ctx, wengert)
    ctx._settle(tensors, found)
    if not is_recorded:
        return [_alias(x, tensors, dirty, plain) if isinstance(x, Tensor) else x for x in results]
    alone = ctx._outputs[0] if len(results) == 1 else None
    handle = append(ctx, wengert, tensors, alone)
    several = flows.count(True) > 1
    made: list[Any] = []
    twice: dict[int, Tensor] = {}
    for i, (x, differentiable) in reversed(list(enumerate(zip(results, flows)))):
        if not differentiable:
            made.append(_alias(x, tensors, dirty, plain) if isinstance(x, Tensor) else x)
            continue
        if id(x) in twice:  # one tensor, with the last of its places
            made.append(twice[id(x)])
            continue
        z = wrap(x._data, handle, alone) if alone else output_of(wengert, handle, i, x._data)
        is_dirty = _among(x, dirty)
        if is_dirty:
            check_free(x, f"mark_dirty() in {ctx._title}.forward")
            rebase(x, z._node)
        made.append(x if is_dirty else _seen_through(z, x, tensors, several))
        if is_dirty or not _among(x, tensors):
            twice[id(x)] = made[-1]
    return made[::-1]


def _check_saved(ctx: BackwardCFunction, wengert: WengertList) -> None:
    """Raise if something that was made in inference mode is saved, unless a derivative is taken there.

    Raises:
        RuntimeError: saying so.
    """
    if not wengert.inferred and any(x is not None and x._inference for x in ctx._saved):
        raise cannot_be_saved(f"{ctx._title}.forward saves it")


def _seen_through(z: Tensor, x: Tensor, tensors: Sequence[Tensor], several: bool = False) -> Tensor:
    """A result, as a view if forward gave a view, or what lies in the memory of an input.

    How it is made of that, only the function knows.
    """
    if hasattr(x, "_of"):
        return link(z, x, (), SEVERAL_CUSTOM if several else CUSTOM_VIEW)
    value = z._data
    memory = None if type(value) is not np.ndarray else value if value.base is None else owner(value)
    for y in tensors:
        if y is x or (memory is not None and type(y) is type(z) and _lies_in(memory, y._data)):
            return link(z, y, (), SEVERAL_CUSTOM if several else CUSTOM_VIEW)
    return z


def _lies_in(memory: np.ndarray, value: Any) -> bool:
    return value is memory or (value.base is not None and owner(value) is memory)


def output_of(wengert: WengertList, handle: int, i: int, value: Any) -> Tensor:
    """Result `i` of the record that was appended last but for such results."""
    row = wengert.record(handle)
    return output(wengert, handle, i, value, row[CODE], row[LASTI])


def check(ctx: BackwardCFunction, results: tuple[Any, ...], tensors: Sequence[Tensor]) -> None:
    """Raise if forward returned, or marked, what it cannot."""
    for x in results:
        if isinstance(x, np.ndarray) or (isinstance(x, list) and any(isinstance(y, Tensor) for y in x)):
            raise TypeError(
                f"{ctx._title}.forward must return a tensor or a tuple of them; got a {type(x).__name__}, through "
                "which no gradient would flow.\nReturn tape.as_tensor(array), or a tuple in place of a list."
            )
    if any(not _among(x, results) for x in ctx._dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output: mark_dirty() in "
            f"{ctx._title}.forward.\nReturn each input that forward changes in place."
        )
    if any(not _among(x, tensors) for x in ctx._dirty):
        ctx._dirty = tuple([x for x in ctx._dirty if _among(x, tensors)])
        warnings.warn(
            f"Only input Tensors should be given to ctx.mark_dirty(): {ctx._title}.forward names a tensor that is no "
            "input, which does not need it.",
            stacklevel=5,
        )


class Call:
    """One call of ``apply`` on tensors of a transformation, which runs forward, or its rules, on what is below them.

    The tensors are the operands of the op; the function, and the other arguments, are kept here.

    Attributes:
        results: what the last run returned, with TENSOR in the place of tensors.
        is_tuple: whether it returned a tuple.
    """

    __slots__ = ("args", "ctx", "function", "is_tuple", "named", "results")

    def __init__(self, function: type[Function], args: tuple[Any, ...], named: dict[str, Any] | None = None):
        self.function, self.named = function, named
        self.args = tuple([TENSOR if isinstance(x, Tensor) else x for x in args])
        self.ctx: Any = None
        self.results: tuple[Any, ...] = ()
        self.is_tuple = False

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """What ``apply`` gives: each transformation in turn takes its own part of the tensors."""
        found = list(CUSTOM(*tensors, ctx=self))
        for i, k in getattr(self.ctx, "_dirty", ()):
            found[i] = changed(tensors[k], found[i])
        results = iter(found)
        made = tuple([next(results) if x is TENSOR else x for x in self.results])
        return made if self.is_tuple else made[0]

    def arguments(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of ``apply``, with these tensors among them."""
        rest = iter(tensors)
        return tuple([next(rest) if x is TENSOR else x for x in self.args])

    def run(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Run forward; its results that are tensors, recorded if a gradient may flow."""
        self.ctx, result = run(self.function, self.arguments(tensors), list(tensors), self.named, True)
        return self.take(result)

    def take(self, result: Any) -> tuple[Tensor, ...]:
        """Note what was returned; the tensors among it."""
        self.is_tuple = isinstance(result, tuple)
        results = result if self.is_tuple else (result,)
        self.results = tuple([TENSOR if isinstance(x, Tensor) else x for x in results])
        return tuple([x for x in results if isinstance(x, Tensor)])

    @staticmethod
    def is_tensor(arg: Any) -> bool:
        """Whether an entry of `args` stands for a tensor."""
        return arg is TENSOR

    def map(self, level: Any, xs: Sequence[Any], flags: Sequence[bool]) -> tuple[Tensor, ...]:
        """The results at a level of `vmap`, of what is below its tensors; `flags` say which have lanes."""
        return apply_mapped(self, level, xs, flags)

    def evaluate(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """The results that are tensors, as arrays, of arrays."""
        return tuple([z._data for z in self.run([wrap(np.asarray(x)[()]) for x in xs])])

    def jvp(self, xs: Sequence[Any], z: Sequence[Any], x_dots: Sequence[Any]) -> tuple[Any, ...]:
        """The rule of forward mode, for the last run."""
        return self.ctx.jvp(xs, z, x_dots)

    def name(self) -> str:
        return self.function._backward_cls.__name__


def changed(x: Tensor, z: Any) -> Tensor:
    """An input that forward has changed in place, of which the transformations have made the result z."""
    return x if live(x) is z else z.changed(x) if isinstance(z, Layer) else z


def append(ctx: BackwardCFunction, wengert: WengertList, tensors: list[Tensor], spec: Any) -> int:
    """Append the record of a custom function, with the spec of its result where there is one alone; its handle."""
    values = ctx._values
    refs = tuple([x if x._node is True else x._node for x in tensors])
    handle = append_row(wengert, refs, values, ctx, spec, 4)
    ctx._recorded(handle)
    if values or ctx.__dict__:
        wengert.entangled |= ctx._entangled()
        nbytes = 0
        for v in values or ():
            if v is not None:
                nbytes += v.nbytes
        if nbytes > LARGE:
            wengert.account(nbytes)
    if handle > wengert.limit:
        wengert.scan()
    return handle


def append_row(
    wengert: WengertList, refs: tuple[Any, ...], values: Any, ctx: Any, spec: Any, depth: int = 2
) -> int:  # fmt: skip
    """Append a record of the op whose rules are the ctx's; its handle.  The user is at least `depth` frames above."""
    handle = wengert.next()
    where = wengert.where or user_frame(sys._getframe(depth))
    wengert.extend((handle, CUSTOM.code, refs, None, values, None, None, (ctx,), spec, *where))
    return handle


def _places(results: Sequence[Any], tensors: Sequence[Any]) -> list[tuple[int, int]]:
    """Which results are inputs: the places of both."""
    return [(i, k) for i, x in enumerate(results) for k, y in enumerate(tensors) if x is y]


def _among(x: Any, tensors: Sequence[Any]) -> bool:
    return any(x is y for y in tensors)


def _alias(x: Tensor, inputs: Sequence[Tensor], dirty: Sequence[Any] = (), plain: Sequence[Any] = ()) -> Tensor:
    """A result without history: the tensor itself, unless it has one, or is an input that forward did not change."""
    if _among(x, inputs) and not _among(x, dirty):
        apart = _among(x, plain) or x._node is not None
        return wrap(x._data) if apart else link(wrap(x._data), x, (), CUSTOM_VIEW)
    if x._node is not None:
        return wrap(x._data)
    if current().recording and (above := look_of(x)) is not None:
        x._of = above._replace(bar=CUSTOM_VIEW)
    return x
