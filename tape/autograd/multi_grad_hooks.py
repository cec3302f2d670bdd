"""A hook of several gradients: called when all of them have come in a backward, or the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..backprop.backward import BackwardTask, node_of
from ..base.locks import new_lock
from ..base.row import X, Y
from ..base.tensor import Tensor
from ..history.chain import RemovableHandle
from ..history.hooks_in_sweeps import place_among_results
from ..history.propagate import through
from ..recording.wengert import current, key, operands


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
    """Calls a function with all gradients that come in a backward, when the last is there.

    Of some that rows lead to, none comes in the end, as their rule gives None: then when the backward is done.
    """

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[list[Tensor | None]], Any]):
        self.fn = fn
        self.keys = [None if t._node is None else key_of_node(t) for t in tensors]
        self.parts: WeakKeyDictionary[BackwardTask, list[Any]] = WeakKeyDictionary()
        self.lock = new_lock()

    def hook(self, i: int) -> Callable[[Tensor], None]:
        def receive(g: Tensor) -> None:
            task = _task()
            with self.lock:
                if task not in self.parts:
                    reached = computed(task)
                    self.parts[task] = [sum(k in reached for k in self.keys), [None] * len(self.keys)]
                    task.callbacks.append(self.complete)
                part = self.parts[task]
                part[0] -= 1
                missing, grads = part
                grads[i] = g
            if not missing:
                del self.parts[task]
                self.fn(grads)

        return receive

    def complete(self) -> None:
        with self.lock:
            part = self.parts.pop(_task(), None)
        if part is not None:
            self.fn(part[1])


def key_of_node(tensor: Tensor) -> int:
    """The key of the node that a tensor's hooks are called at: of one of several results, that of the op."""
    k: int = key(node_of(tensor)) + 0
    place = place_among_results(k) if k >= 0 else None
    return k if place is None else place[0]


def _task() -> BackwardTask:
    task: BackwardTask | None = current().task
    assert task is not None, "gradients come in a backward"
    return task


def computed(task: BackwardTask) -> set[int]:
    """The keys of all tensors whose gradients a backward computes."""
    targets = task.wanted
    found = set(task.roots)
    for _, rows in through([k for k in task.roots if k >= 0], targets):
        for row in rows.values():
            keys = [key(ref) for ref in operands(row[X], row[Y]) if ref is not None]
            found.update(k for k in keys if targets is None or k in rows or k in targets)
    return found
