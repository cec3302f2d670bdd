"""The short way of ops that move numbers: of plain tensors with axes, whose results are known to be views, or joined.

What `bind`, `attach` and the signatures of functions find out of a call is known here beforehand; callers see to it
that it holds (`is_plain`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Op

from ..base.errors import misfit
from ..base.spec import SPECS
from ..base.tensor import Tensor
from .recorder import LARGE, OUTPUT, enter, getframe, new, user_frame, wrap
from .views import WATCH, place_among, views_of
from .wengert import EVER_INFERRED, current

TENSORS, WHOLE = frozenset({Tensor}), frozenset({int})
"""Kinds of operands, and of numbers, that need no look at each."""


GENERAL: list[Any] = []
"""Those who want all ops to go through `bind` for now."""


def is_plain(x: Any) -> bool:
    """Whether something is a tensor with axes, of no transformation, and goes the short way.

    Nothing does once something was made in inference mode.
    """
    return type(x) is Tensor and bool(x._spec.shape) and not EVER_INFERRED and not GENERAL


def view(op: Op, x: Tensor, z: np.ndarray, params: dict[str, Any]) -> Tensor:
    """The result of an op on a plain tensor with axes: a view, of which the value is made already.

    `params` are all that the op has, in its order.
    """
    wengert = current()
    result = new(Tensor)
    result._data = z
    result._spec = spec = SPECS[z.shape, z.dtype]
    ref, recorded = x._node, wengert.recording
    if recorded and ref is not None:
        result._node = handle = wengert.next()
        where = wengert.where or user_frame(getframe(2))
        ref = x if ref is True else ref
        row_params = tuple(params.values()) if params else None
        wengert.extend((handle, op.code, ref, None, None, None, None, row_params, spec, *where))
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
    else:
        result._node = None
    place_among(result, x, (x, op, params, recorded, None))
    return result


def views(op: Op, x: Tensor, zs: Sequence[Any], params: dict[str, Any]) -> tuple[Tensor, ...]:
    """`view` of an op with several results."""
    wengert = current()
    ref, recorded = x._node, wengert.recording
    is_recorded = recorded and ref is not None
    if is_recorded:
        parent, code = wengert.next(), OUTPUT.code
        where = wengert.where or user_frame(getframe(2))
        row_params = tuple(params.values())
        wengert.extend((parent, op.code, x if ref is True else ref, None, None, None, None, row_params, None, *where))
    made, handle, nbytes = [], None, 0
    among = None if WATCH.on or x._readonly or hasattr(x, "_of") else views_of(x)
    for i, z in enumerate(zs):
        result = new(Tensor)
        result._data = z
        result._spec = spec = SPECS[z.shape, z.dtype]
        if is_recorded:
            handle = wengert.next()
            wengert.extend((handle, code, parent, None, None, None, None, (i,), spec, *where))
            nbytes += spec.nbytes
        result._node = handle
        of = x, op, params, recorded, i
        if among is None:
            place_among(result, x, of)
        else:  # what that does with a base that is as usual
            result._of, result._among = of, among
        made.append(result)
    if nbytes > LARGE:
        wengert.account(nbytes)
    if handle is not None and handle > wengert.limit:
        wengert.scan()
    return tuple(made)


def joined(op: Op, xs: Sequence[Tensor], params: dict[str, Any]) -> Tensor:
    """The result of a linear op on any number of plain tensors, in row-major order and memory of its own."""
    values = [x._data for x in xs]
    try:
        z = op.forward(*values, **params)
    except ValueError as error:
        raise misfit(op, values, error) from None
    if not z.flags.c_contiguous:
        z = np.ascontiguousarray(z)
    wengert = current()
    refs = tuple([x if x._node is True else x._node for x in xs])
    if not wengert.recording or refs.count(None) == len(refs):
        return wrap(z)
    return enter(wengert, op, refs, None, None, None, z, False, tuple(params.values()), SPECS[z.shape, z.dtype])
