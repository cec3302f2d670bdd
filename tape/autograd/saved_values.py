"""Contexts that put saved values away while a program records: to disk, to fewer bits, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..base.tensor import Tensor
from ..recording.guard import GUARDS, Guards
from ..recording.packing import PackHooks, check_enabled, pairs_of, with_pair
from ..recording.wengert import WengertList, current


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
