"""The history of a tensor that was changed in place: it goes on from the record of the change.

The op is recorded as if it had made a new value.  Where the tensor is a view, the base has been changed
too: `ops.put_view` records that, from the base's old value and the view's new one.  Then every
living view of the base is derived from it anew, so that no tensor is ever behind its memory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op

from ..base.row import HANDLE, WIDTH, XV, YV, ZV
from ..base.spec import Spec, spec_of
from ..base.tensor import Tensor
from ..history.bars import MODES, Barred, change_error
from ..history.hooks import move_retained
from ..recording import leaf
from ..recording.recorder import CUSTOM, operand, user_frame, wrap
from ..recording.views import SEVERAL, ViewStep, base_of, counted_with, family, look_of, materialise, owner, path_to
from ..recording.wengert import WengertList, current
from .writing import check_fits, check_writeable, is_alone, put

PUT_VIEW = REGISTRY["put_view"]


def is_tracked(tensor: Tensor, operands: Iterable[Any]) -> bool:
    """Whether a change of this tensor, from these operands, is part of a history that is being recorded."""
    if not current().recording:
        return False
    return tensor._node is not None or base_of(tensor)._node is not None or any(map(_has_history, operands))


def _has_history(x: Any) -> bool:
    if isinstance(x, Tensor):
        return x._node is not None
    return isinstance(x, (tuple, list)) and any(map(_has_history, x))


def check_free(tensor: Tensor, operation: str) -> None:
    """Raise if changing a tensor in place, while that is recorded, would have no meaning.

    Raises:
        RuntimeError: for a leaf that requires grad or a view of one, and for views that do not know how they were made.
    """
    check_history(tensor, operation)
    check_writeable(tensor, operation)


def check_history(tensor: Tensor, operation: str) -> None:
    """`check_free`, as far as it is about histories and not about memory."""
    base = base_of(tensor)
    above = None if base is tensor else look_of(tensor)
    if above is not None and above.bar is not None:
        raise change_error(tensor, above, operation)
    if tensor._node is True or base._node is True:
        what = "a leaf" if tensor._node is True else "a view of a leaf"
        raise RuntimeError(
            f"{what} Variable that requires grad is being used in an in-place operation.\n{operation} cannot change it "
            "while operations are recorded: its gradient would be that of another value.\nFor an update, as of an "
            "optimiser, do it under `with tape.no_grad():`."
        )
    if above is not None and base._node is None and is_left(tensor):
        raise RuntimeError(
            f"a view of a leaf Variable is being used in an in-place operation.\n{operation} cannot change a view with "
            "a history, whose base was taken out of that by detach_(). Use .detach() of the view, or of a clone()."
        )


def afresh(tensor: Tensor) -> Tensor:
    """A tensor as its own change reads it: if it is a view, seen from its base.

    The gradient of the change goes to what the base was, past the view that was: hooks of that are not called.
    """
    if base_of(tensor) is tensor or type(tensor._node) is not int:
        return tensor
    return wrap(tensor._data, derive(tensor), tensor._spec)


def assign(tensor: Tensor, result: Tensor, operation: str, last: int) -> Tensor:
    """Put a result that was computed after record `last` in the place of a tensor's value and history."""
    result = fitted(tensor, result, operation)
    if not is_alone(tensor):
        _keep_apart(current(), last, materialise(tensor), result._data)
    put(tensor, result._data, operation, last)
    if result._node is not None:
        rebase(tensor, result._node)
    return tensor


def fitted(tensor: Tensor, result: Tensor, operation: str) -> Tensor:
    """A result as it will lie in the tensor: of its dtype, and with a history if the tensor has one."""
    check_fits(tensor, result._data, operation)
    if result._spec.dtype != tensor._spec.dtype:
        result = ops.cast(result, dtype=tensor._spec.dtype)
    if result._node is None and tensor._node is not None:
        return ops.fill(tensor, result)
    return ops.clone(result) if result._node is True else result


def _keep_apart(wengert: WengertList, last: int, memory: np.ndarray, result: Any) -> None:
    """Let the records after `last` hold copies of what is about to be overwritten, and the result in its new place."""
    rows, shared = wengert.rows, owner(memory)
    for start in range(len(rows) - WIDTH, -1, -WIDTH):
        if rows[start + HANDLE] <= last:
            break
        for field in (XV, YV, ZV):
            value = rows[start + field]
            rows[start + field] = memory if field == ZV and value is result else _apart(value, shared)


def _apart(value: Any, shared: np.ndarray) -> Any:
    if type(value) is tuple:
        return tuple([_apart(v, shared) for v in value])
    return value.copy() if isinstance(value, np.ndarray) and owner(value) is shared else value


def rebase(tensor: Tensor, node: int) -> None:
    """Let the history of a tensor go on from a record, and that of all that share its memory."""
    base, steps = path_to(tensor)
    if base is not tensor:
        node = append(PUT_VIEW, (operand(base), node), {"steps": steps}, base._spec)
    set_node(base, node)
    for view in list(family(base)):
        if base_of(view) is base or (follows(view) and not counted_with(base)._silent):
            set_node(view, derive(view))


def set_node(tensor: Tensor, node: int) -> None:
    """Move a tensor to another place in the history; hooks stay, but what `retain_grad` asked for moves along."""
    before, tensor._node = tensor._node, node
    if tensor._retains:
        move_retained(tensor, before)


def reread(tensor: Tensor) -> None:
    """Derive the views of memory anew that was changed without a record of that.

    Their gradients are what they were, but hooks and targets of before are of views that are no more; those that were
    made without a record of that have no place in the history from now on, and those whose base has none any more have
    one that leads nowhere.
    """
    alone = getattr(tensor, "_views", None) is None and getattr(tensor, "_among", None) is None
    if alone or counted_with(tensor)._silent:
        return
    for view in list(family(tensor)):
        if follows(view):
            set_node(view, derive(view))
        elif base_of(view)._node is None:
            above = look_of(view)
            assert above is not None
            view._of = above if above.is_behind else above._replace(is_behind=True)


def follow(base: Tensor) -> None:
    """Derive the views of a base that requires grad from now on, as far as their memory was changed since they were
    made: they have a place in its history then.  Others stay what they are."""
    for view in list(family(base)):
        above = look_of(view)
        if base_of(view) is base and above is not None and above.is_behind and follows(view):
            view._of = above._replace(is_behind=False)
            set_node(view, derive(view))


leaf.FOLLOWING.append(follow)


def is_left(view: Tensor) -> bool:
    """Whether a view has a history that its base was taken out of, by `detach_`."""
    if type(view._node) is not int or base_of(view)._node is not None:
        return False
    above = look_of(view)
    return above is not None and above.bar in FOLLOWING


def follows(view: Tensor) -> bool:
    """Whether a view gets another place in the history when its memory was changed without a record in that history."""
    above = look_of(view)
    if above is None:
        return False
    if base_of(view)._node is None:
        return is_left(view)
    return above.bar in FOLLOWING or (above.bar in MODES and type(view._node) is not int)


FOLLOWING = None, SEVERAL


def is_counted_with_others(view: Tensor) -> bool:
    """Whether a view is one of several that had no history when they were made: its base's changes are its own.

    Those with a history do not count them, so that they go on; these have no place in a history that came later.
    """
    above = look_of(view)
    return above is not None and above.bar == SEVERAL and counted_with(view) is base_of(view)


def derive(view: Tensor) -> int:
    """Record a view of its base again, past all views between them; its value is there already."""
    above, (base, steps) = look_of(view), path_to(view)
    assert above is not None
    node = operand(base)
    if above.bar not in FOLLOWING or is_counted_with_others(view):
        return append_barred(node, above, view._spec)
    shown = np.broadcast_to(np.empty((), base._spec.dtype), base._spec.shape)
    for i, (name, params, output) in enumerate(steps):
        op, is_last = REGISTRY[name], i == len(steps) - 1
        if not is_last:
            shown = ops.shapes.overwriting.look(shown, (steps[i],))
        spec = view._spec if is_last else spec_of(shown)
        node = append(op, (node, None), dict(params), spec if output is None else None)
        if output is not None:
            node = append(OUTPUT, (node, None), {"i": output}, spec)
    return node


def append(op: Op, refs: tuple[Any, Any], params: dict[str, Any], spec: Spec | None) -> int:
    """Append the record of an op that saves no values; its handle."""
    wengert = current()
    handle = wengert.next()
    where = wengert.where or user_frame(sys._getframe(1))
    row_params = tuple([params.get(name, default) for name, default in op.params.items()]) if op.params else None
    wengert.extend((handle, op.code, *refs, None, None, None, row_params, spec, *where))
    if handle > wengert.limit:
        wengert.scan()
    return handle


def append_barred(node: Any, above: ViewStep, spec: Spec) -> int:
    """Append a record through which no gradient can flow: of a view that must not be used after its base changed."""
    wengert = current()
    handle = wengert.next()
    where = wengert.where or user_frame(sys._getframe(1))
    wengert.extend((handle, CUSTOM.code, (node,), None, None, None, None, (Barred(str(above.bar)),), spec, *where))
    return handle


OUTPUT = REGISTRY["output"]
