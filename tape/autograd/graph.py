"""The history as a graph: nodes, edges, and what can be hung on them.

And contexts that put saved values away while a program records: to disk, to fewer bits, or nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from ..backprop.backward import BackwardTask, node_of
from ..base.locks import new_lock
from ..base.row import X, Y
from ..base.tensor import Tensor
from ..history.chain import RemovableHandle
from ..history.node import AccumulateGrad, GradientEdge, Node, edge_of
from ..history.propagate import visit
from ..recording.guard import GUARDS, Guards
from ..recording.packing import PackHooks, check_enabled, pairs_of, with_pair
from ..recording.version import increment
from ..recording.wengert import WengertList, current, key, list_of, operands

__all__ = [
    "AccumulateGrad", "GradientEdge", "Node", "RemovableHandle", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu",
    "saved_tensors_hooks",
]  # fmt: skip


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where in the graph a tensor's gradient is computed; `grad` and `backward` take it in the tensor's place.

    Raises:
        RuntimeError: if the tensor does not require grad.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> edge = get_gradient_edge(x * 3)
    >>> tape.autograd.grad(edge, x, grad_outputs=tape.ones(2))
    (tensor([3., 3.]),)
    """
    node, number = edge_of(node_of(tensor))
    if node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients.\nCreate it with "
            "requires_grad=True, or compute it from tensors that require grad."
        )
    return GradientEdge(node, number)


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count an in-place change that was made behind the library's back."""
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        increment(t, "increment_version()")


class MultiHandle:
    """Takes several hooks away again, by ``remove()`` or at the end of a ``with`` block."""

    __slots__ = ("handles",)

    def __init__(self, handles: tuple[RemovableHandle, ...]):
        self.handles = handles

    def remove(self) -> None:
        """Do not call the hook any more."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> MultiHandle:
    """Call ``fn`` in every backward that computes gradients of these tensors.

    With mode ``"all"``, when the last of those gradients is there: ``fn(grads)``, with None for the
    tensors that this backward does not reach.  With ``"any"``, at the first: ``fn(grad)``.
    What ``fn`` returns is not used.  Returns a handle whose ``remove()`` takes the hook away.

    Raises:
        ValueError: for another mode.
        RuntimeError: in mode ``"all"``, if one of the tensors does not require grad.

    >>> import tape
    >>> x, y = tape.ones(2, requires_grad=True), tape.ones(2, requires_grad=True)
    >>> handle = register_multi_grad_hook((x, y), lambda grads: print(grads))
    >>> (x * 2).sum().backward()
    [tensor([2., 2.]), None]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if not callable(fn):
        raise TypeError(f"register_multi_grad_hook() takes a function of the gradients; got {type(fn).__name__}")
    gather = Gather(tensors, fn) if mode == "all" else First(fn)
    wanted = [t.requires_grad or mode == "all" for t in tensors]
    return MultiHandle(tuple([t.register_hook(gather.hook(i)) for i, t in enumerate(tensors) if wanted[i]]))


class First:
    """Calls a function with the first gradient that comes in a backward."""

    def __init__(self, fn: Callable[[Tensor], Any]):
        self.fn = fn
        self.last = -1
        self.lock = new_lock()

    def hook(self, i: int) -> Callable[[Tensor], None]:
        return self.receive

    def receive(self, g: Tensor) -> None:
        number = _task().number
        with self.lock:
            called, self.last = self.last == number, number
        if not called:
            self.fn(g)


class Gather:
    """Calls a function with all gradients that come in a backward, when the last is there."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], Any]):
        self.fn = fn
        self.keys = [None if t._node is None else key(node_of(t)) + 0 for t in tensors]
        self.parts: WeakKeyDictionary[BackwardTask, list[Any]] = WeakKeyDictionary()
        self.lock = new_lock()

    def hook(self, i: int) -> Callable[[Tensor], None]:
        def receive(g: Tensor) -> None:
            task = _task()
            with self.lock:
                if task not in self.parts:
                    reached = reach(task)
                    self.parts[task] = [sum(k in reached for k in self.keys), [None] * len(self.keys)]
                part = self.parts[task]
                part[0] -= 1
                missing, grads = part
                grads[i] = g
            if not missing:
                del self.parts[task]
                self.fn(grads)

        return receive


def _task() -> BackwardTask:
    task: BackwardTask | None = current().task
    assert task is not None, "gradients come in a backward"
    return task


def reach(task: BackwardTask) -> set[int]:
    """The keys of all tensors whose gradients a backward computes."""
    targets = task.wanted
    found = set(task.roots)
    queue = [k for k in task.roots if k >= 0]
    while queue:
        wengert = list_of(queue[-1])
        roots = [k for k in queue if wengert.owns(k)]
        queue = [k for k in queue if not wengert.owns(k)]
        with wengert.still():
            rows = visit(wengert, roots, targets)
        for row in rows.values():
            for ref in operands(row[X], row[Y]):
                if ref is None:
                    continue
                k = key(ref)
                if k >= 0 and not wengert.owns(ref) and k not in found:
                    queue.append(k)
                if targets is None or k in rows or k in targets:
                    found.add(k)
    return found


class saved_tensors_hooks:
    """Within, what operations save for backward is put away by one function and got back by another.

    ``pack_hook(tensor)`` is called when a value is saved, and may return anything; in backward
    ``unpack_hook`` gets that, and must return a tensor with the numbers of the first.  Of nested
    pairs the innermost is used.  The hooks of this thread only, and of what is recorded within;
    backward may come later.

    Raises:
        TypeError: if the hooks are not functions; in backward, if ``unpack_hook`` returns no tensor.
        RuntimeError: if ``pack_hook`` changes its argument in place, or ``unpack_hook`` returns another shape.

    Saved values on disk:

    >>> import os, tempfile, numpy as np, tape
    >>> folder = tempfile.TemporaryDirectory()
    >>> def pack(x):
    ...     name = os.path.join(folder.name, f"{len(os.listdir(folder.name))}.npy")
    ...     np.save(name, x.detach().numpy())
    ...     return name
    >>> def unpack(name):
    ...     return tape.from_numpy(np.load(name))
    >>> x = tape.tensor([0.0, 1.0, 2.0], requires_grad=True)
    >>> with saved_tensors_hooks(pack, unpack):
    ...     y = (x.exp() * x).sum()
    >>> len(os.listdir(folder.name))
    3
    >>> y.backward()
    >>> x.grad
    tensor([ 1.0000,  5.4366, 22.1672])
    >>> folder.cleanup()
    """

    __slots__ = ("__weakref__", "_before", "_pair")

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(hook):
                raise TypeError(f"saved_tensors_hooks() takes two functions; its {name} is {hook!r}")
        self._pair = PackHooks(pack_hook, unpack_hook)
        self._before: list[tuple[WengertList, Any]] = []

    def __enter__(self) -> None:
        wengert = current()
        packing = with_pair(wengert, self._pair)
        self._before.append((wengert, wengert.extend))
        wengert.extend = packing

    def __exit__(self, *_: Any) -> None:
        # No call before the assignment, so that no interrupt finds it half done.
        while self._before and self._before[-1][1] is self._before[-1][0].extend:
            self._before.pop()  # entered in a backward, whose end was the end of it
        if self._before:
            wengert, wengert.extend = self._before[-1]
            self._before.pop()


class save_on_cpu(saved_tensors_hooks):
    """Within, saved values are kept in the memory of the CPU; here they always are.

    Taken so that programs which ask for it run; ``pin_memory`` and ``device_type`` change nothing.
    """

    __slots__ = ()

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        super().__init__(_same, _same)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[Guards]:
    """Within, tensors that operations have saved may be changed in place: backward uses them as they were.

    A saved value is copied just before its memory is changed, and only then.  What is recorded
    within must be differentiated within.

    Raises:
        RuntimeError: if the contexts are nested.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> with allow_mutation_on_saved_tensors():
    ...     y = tape.tensor([2.0, 3.0])
    ...     z = (x * y).sum()
    ...     _ = y.mul_(100)
    ...     z.backward()
    >>> x.grad
    tensor([2., 3.])
    """
    if _mutable:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested; one of them is enough")
    guards = Guards()
    try:
        GUARDS.append(guards)
        _mutable.append(guards)
        with saved_tensors_hooks(guards.guard, guards.get):
            yield guards
    finally:
        guards.clear()
        GUARDS.remove(guards)
        _mutable.clear()


_mutable: list[Guards] = []
"""The guards of the `allow_mutation_on_saved_tensors` that is under way."""


def _same(x: Tensor) -> Tensor:
    return x.detach()


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within, `saved_tensors_hooks` raises a RuntimeError with this message.

    Raises:
        RuntimeError: if hooks are active already.
    """
    if not isinstance(error_message, str):
        raise TypeError(f"disable_saved_tensors_hooks() takes the message of the error; got {error_message!r}")
    wengert = current()
    before = wengert.unpacked
    try:
        wengert.unpacked = error_message
        if pairs_of(wengert):
            check_enabled(wengert)
        yield
    finally:
        wengert.unpacked = before
