"""Hooks: functions that see an adjoint, and may replace it, when it is complete; and who watches whole sweeps.

A sweep looks once, when it begins, whether anybody watches, as anomaly mode and the profiler do while they are on.

A list holds its hooks, and a hook may hold the tensor that it hangs on, which keeps the record
alive that the hook belongs to: nothing would ever let go.  So where only tensors and nodes keep a
record alive, and no other record, what hangs on it is lent to them.  Python's collector then sees
the circle, and the rest dies with it.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

from ..base.row import HANDLE, OP, PARAMS, WIDTH, X, Y
from ..base.spec import Spec
from ..base.tensor import Tensor, Theme
from ..base.untraced import COUNTS, UNCOUNTED, untraced
from ..recording.recorder import OUTPUT
from ..recording.wengert import WengertList, list_of, operands, row_of
from .chain import Chain, Hook, Hung, RemovableHandle, apply

__all__ = ["RemovableHandle", "apply", "chain_of", "chain_of_leaf", "copy_of", "move_retained"]


def copy_of(handle: int) -> int:
    """The same number as another object: references to the handle itself are what keeps a record alive."""
    return handle + 1 - 1


def chain_of(handle: int, spec: Spec | None) -> Chain:
    """The hooks of a record, started if there are none."""
    wengert = list_of(handle)
    found = wengert.hooks.get(handle)
    if found is None:
        if wengert.has_many_hooks():
            wengert.prune_hooks()
            if len(wengert.hooks) >= MANY and lend_hooks(wengert):
                gc.collect()
                wengert.prune_hooks()
        found = wengert.hooks.setdefault(copy_of(handle), Chain(spec))
        row = row_of(handle)
        if row[OP] == OUTPUT.code and not found.is_output:
            found.is_output = True
            chain_of(row[X], None).outputs.append((row[PARAMS][0], found))
    return found


LEAVES: WeakValueDictionary[int, Tensor] = WeakValueDictionary()
"""The living leaves that have hooks, by identity."""


def hooked_leaves() -> dict[int, Tensor]:
    """Those leaves, held; other threads may add to them meanwhile."""
    return {id(leaf): leaf for reference in LEAVES.valuerefs() if (leaf := reference()) is not None}


def in_order(leaves: list[Tensor], row: list[Any]) -> list[Tensor]:
    """Leaves that a record is the last to contribute to, in the order of its operands."""
    if len(leaves) < 2:
        return leaves
    places = [id(ref) for ref in operands(row[X], row[Y])]
    return sorted(leaves, key=lambda leaf: places.index(id(leaf)))


def chain_of_leaf(leaf: Tensor) -> Chain:
    """The hooks of a leaf, started if there are none."""
    if leaf._chain is None:
        leaf._chain = Chain(leaf._spec)
        LEAVES[id(leaf)] = leaf
    return leaf._chain


NO_HOOK = "cannot register a hook on a tensor that doesn't require gradient"


def _check_requires_grad(tensor: Tensor, otherwise: str) -> None:
    if tensor._node is None:
        raise RuntimeError(
            f"{otherwise}: no gradient will ever reach it.\nCreate it with requires_grad=True, or compute it from "
            "tensors that require grad."
        )


class HookMethods(Theme):
    """What is called when a gradient arrives at a tensor."""

    __slots__ = ()

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad)`` whenever the gradient with respect to this tensor has been computed.

        The hook may return a tensor that replaces the gradient.  Hooks run in order of registration.  Of an op with
        several results (`unbind`, `split`, …), the hooks of all run together, with None where there is no gradient.
        Returns a handle whose ``remove()`` takes the hook away.

        Raises:
            RuntimeError: if the tensor does not require grad.

        >>> import tape
        >>> x = tape.ones(2, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward()
        >>> x.grad
        tensor([10., 10.])
        """
        _check_requires_grad(self, NO_HOOK)
        if not callable(hook):
            raise TypeError(f"register_hook() takes a function of the gradient; got {type(hook).__name__}")
        chain = chain_of_leaf(self) if self.is_leaf else chain_of(self._node, self._spec)
        handle = RemovableHandle(chain.hooks, hook)
        chain.first = min(chain.first, handle.id)
        return handle

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever a gradient has been added to this leaf's ``.grad``.

        Raises:
            RuntimeError: if the tensor is not a leaf, or does not require grad; in backward, if the hook returns
                anything.

        >>> import tape
        >>> x = tape.ones(2, requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda x: print("got", x.grad))
        >>> (x * 3).sum().backward()
        got tensor([3., 3.])
        """
        _check_requires_grad(self, NO_HOOK)
        if not self.is_leaf:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors: gradients accumulate in leaves.\n"
                "Use register_hook() here."
            )
        return RemovableHandle(chain_of_leaf(self).accumulated, hook)

    def retain_grad(self) -> None:
        """Keep this tensor's gradient in ``.grad`` although it is not a leaf; nothing on a leaf.

        Raises:
            RuntimeError: if the tensor does not require grad.
        """
        _check_requires_grad(self, "can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            self._retains = True
            chain_of(self._node, self._spec).retained = weakref.ref(self)

    @property
    def _backward_hooks(self) -> dict[Any, Hook] | None:
        """The hooks on this tensor as they are kept, by number; None where there never was one.  May be replaced."""
        chain = self._chain if self.is_leaf else list_of(self._node).hooks.get(self._node)
        return None if chain is None else chain.hooks

    @_backward_hooks.setter
    def _backward_hooks(self, hooks: dict[Any, Hook] | None) -> None:
        chain = chain_of_leaf(self) if self.is_leaf else chain_of(self._node, self._spec)
        chain.hung().hooks = {} if hooks is None else hooks

    @_backward_hooks.deleter
    def _backward_hooks(self) -> None:
        raise RuntimeError(
            "the hooks of a tensor cannot be deleted; assign None, or call remove() on the handle of each"
        )

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf."""
        return self._retains and not self.is_leaf


def move_retained(tensor: Tensor, before: Any) -> None:
    """Let `retain_grad` follow a tensor that an in-place operation has given another record than `before`."""
    if tensor._retains and tensor._node != before:
        old = list_of(before).hooks.get(before) if type(before) is int else None
        if old is not None and old.retained is not None and old.retained() is tensor:
            old.retained = None
        Tensor.retain_grad(tensor)


Rules = Callable[..., Iterable[tuple[int, Any, Any]]]
"""What runs the rules of a record: `tape.history.propagate.contributions`, or something around it."""

Steps = Callable[[int, int], None]
"""What runs steps of a jitted sweep: so many, from one on."""


class Watcher:
    """Sees what sweeps do, by standing around what they do it with."""

    def rules(self, inner: Rules) -> Rules:
        """What runs the rules of a record, in place of `inner`."""
        return inner

    def steps(self, inner: Steps, run: Any) -> Steps:
        """What runs the steps of a jitted sweep `run`, in place of `inner`."""
        return inner


WATCHERS: list[Watcher] = []
"""Those that watch now, the innermost first."""


def watched_rules(inner: Rules) -> Rules:
    """What a sweep that begins runs the rules of records with."""
    for watcher in WATCHERS:
        inner = watcher.rules(inner)
    return inner


def watched_steps(inner: Steps, run: Any) -> Steps:
    """What a jitted sweep that begins runs its steps with."""
    for watcher in WATCHERS:
        inner = watcher.steps(inner, run)
    return inner


MANY = 512
"""From this many records with hooks on, it is worth asking Python's collector who holds them, which takes some time."""


class Loan:
    """Held by the tensors and nodes that keep a record alive, in place of the list.

    When they go, and something else turns out to need the record, the list holds again what hangs on it.
    """

    __slots__ = ("__weakref__", "chain", "handle", "hung")

    def __init__(self, chain: Chain, hung: Hung, handle: int):
        self.chain, self.hung, self.handle = chain, hung, handle
        chain.lend(self)

    def __del__(self) -> None:
        # A collector that has found a circle calls this while the borrowers, who are in it, still hold the loan.
        borrowers = sys.getrefcount(self) - _ALONE
        if _references(self.handle) > borrowers:
            self.chain.take_back(self.hung)


def _references(handle: int) -> int:
    """How many objects hold a record's handle beside its own row."""
    wengert = list_of(handle)
    with wengert.still():
        try:
            position = wengert.locate(handle)
        except RuntimeError:  # the record is gone
            return 0
        return sys.getrefcount(wengert.rows[position * WIDTH + HANDLE]) - UNCOUNTED - 1


class _Probe:
    """Counts as a loan does when its last borrower lets it go."""

    seen = 0

    def __del__(self) -> None:
        _Probe.seen = sys.getrefcount(self)


def _probe() -> int:
    _Probe()
    return _Probe.seen


_ALONE = untraced(_probe)
"""What `sys.getrefcount` says in ``__del__`` of an object that nothing holds any more."""


def lend_hooks(wengert: WengertList) -> bool:
    """Lend what hangs on the records of a thread's own list that only tensors and nodes keep alive, if there is any."""
    rows = wengert.rows
    needed = {ref for p in range(len(wengert)) for ref in operands(*rows[p * WIDTH + X : p * WIDTH + Y + 1])
              if type(ref) is int}  # fmt: skip
    free = [handle for handle, chain in wengert.hooks.items() if handle not in needed and not chain.is_lent]
    if not free or not COUNTS:
        return False
    handles = {h: rows[wengert.locate(h) * WIDTH + HANDLE] for h in free}
    borrowers = _borrowers(handles)
    for h in free:
        references = sys.getrefcount(handles[h]) - UNCOUNTED - 2  # the row's, and that of `handles`
        if borrowers[h] and references == len(borrowers[h]):
            chain = wengert.hooks[h]
            loan = Loan(chain, chain.hung(), h + 1 - 1)
            for holder in borrowers[h]:
                object.__setattr__(holder, "_loan", loan)
    return True


def _borrowers(handles: dict[int, Any]) -> dict[int, list[Any]]:
    """The tensors and nodes that hold these very handles; none of its names outlives the call, and counts as one."""
    found: dict[int, list[Any]] = {h: [] for h in handles}
    for holder in gc.get_referrers(*handles.values()):
        handle = _handle_of(holder)
        if handle is handles.get(handle):
            found[handle].append(holder)
    return found


def _handle_of(holder: Any) -> int:
    """The handle that a tensor or node holds; −1 of anything else."""
    handle = holder._node if isinstance(holder, Tensor) else getattr(holder, "_handle", None)
    return handle if type(handle) is int and hasattr(type(holder), "_loan") else -1
