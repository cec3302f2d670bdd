"""Switching recording off and on: ``no_grad``, ``enable_grad``, ``set_grad_enabled``, ``inference_mode``.

Each works as a context and as a decorator, with or without parentheses, of functions, generators,
coroutines and asynchronous generators.  The switch belongs to the thread, and goes back when the
block is left, by an exception too.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
import warnings
from _thread import get_ident
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar

from .wengert import EVER_INFERRED, INFERRING, WengertList, current

Context = Callable[[], AbstractContextManager[Any]]


def decorate(function: Any, context: Context) -> Any:
    """A function, generator, coroutine or asynchronous generator whose body runs in contexts that `context` makes.

    Raises:
        TypeError: if it is not a function.
    """
    if not callable(function):
        raise TypeError(f"a grad mode decorates functions; got {function!r}, a {type(function).__name__}")
    if inspect.isclass(function):
        warnings.warn(
            "Decorating classes is deprecated and will be disabled in future versions.\nA class is not a function: "
            "decorate its methods. What happens now, that only its instances are made in this mode, is what decorating "
            "__init__ alone does.",
            FutureWarning,
            stacklevel=3,
        )
        return functools.wraps(function, updated=())(_within(function, context))
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(lambda *args, **kwargs: _async_generator(function(*args, **kwargs), context))
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(_coroutine(function, context))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(_generator(function, context))
    return functools.wraps(function)(_within(function, context))


def _within(function: Any, context: Context) -> Callable[..., Any]:
    def within(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return within


def _coroutine(function: Any, context: Context) -> Callable[..., Any]:
    async def within(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(function(*args, **kwargs), context)

    return within


def _generator(function: Any, context: Context) -> Callable[..., Any]:
    def within(*args: Any, **kwargs: Any) -> Any:
        return (yield from _steps(function(*args, **kwargs), context))

    return within


def _steps(generator: Any, context: Context) -> Generator[Any, Any, Any]:
    """Drive a generator or coroutine, each step of it in a context; the caller runs in the caller's own."""
    send, argument = generator.send, None
    while True:
        try:
            with context():
                item = send(argument)
        except StopIteration as stop:
            return stop.value
        try:
            send, argument = generator.send, (yield item)
        except GeneratorExit:
            with context():
                generator.close()
            raise
        except BaseException as error:
            send, argument = generator.throw, error


@types.coroutine
def _awaited(awaitable: Any, context: Context) -> Generator[Any, Any, Any]:
    return (yield from _steps(awaitable, context))


async def _async_generator(generator: Any, context: Context) -> Any:
    step: Any = generator.asend
    arguments: tuple[Any, ...] = (None,)
    while True:
        try:
            item = await _awaited(step(*arguments).__await__(), context)
        except StopAsyncIteration:
            return
        try:
            step, arguments = generator.asend, ((yield item),)
        except GeneratorExit:
            await _awaited(generator.aclose().__await__(), context)
            raise
        except BaseException as error:
            step, arguments = generator.athrow, (error,)


F = TypeVar("F", bound=Callable[..., Any])

__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "is_multithreading_enabled",
    "no_grad", "set_grad_enabled", "set_multithreading_enabled",
]  # fmt: skip


def is_grad_enabled() -> bool:
    """Whether this thread records operations, or would outside `inference_mode`.

    >>> is_grad_enabled()
    True
    """
    switched = INFERRING.get(get_ident())
    return current().recording if switched is None else switched


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in `inference_mode`."""
    return get_ident() in INFERRING


def _switch(mode: bool) -> None:
    """Recording on or off; in inference mode nothing is recorded, but what is set is remembered."""
    ident, wengert = get_ident(), current()
    wengert.stopped += not mode
    if INFERRING and ident in INFERRING:
        INFERRING[ident] = mode
    else:
        wengert.recording = mode
        wengert.switched += mode


class _Switch:
    """Recording set to `mode` while entered; may be entered again before it is left."""

    __slots__ = ("_before", "mode")

    def __init__(self, mode: bool):
        self.mode = mode
        self._before: list[tuple[WengertList, bool, bool | None]] = []

    def __enter__(self) -> None:
        self._note()
        _switch(self.mode)

    def __exit__(self, *_: Any) -> None:
        # One assignment, and no call before it, so that no interrupt finds it half done.
        wengert, wengert.recording, switched = self._before[-1]
        self._before.pop()
        if switched is not None:
            _switch(switched)

    def _note(self) -> None:
        """Note what is to be put back."""
        wengert = current()
        self._before.append((wengert, wengert.recording, INFERRING.get(get_ident())))

    def __call__(self, function: F) -> F:
        """Decorate a function: its body runs in this mode."""
        return decorate(function, partial(_Switch, self.mode))


class _FixedSwitch(_Switch):
    """A switch whose mode is known, so that ``@no_grad`` works without parentheses."""

    __slots__ = ()
    fixed: bool

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else decorate(function, partial(_Switch, cls.fixed))

    def __init__(self) -> None:
        super().__init__(self.fixed)


class no_grad(_FixedSwitch):
    """Nothing is recorded within, so that results do not require grad.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> with tape.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    __slots__ = ()
    fixed = False


class enable_grad(_FixedSwitch):
    """Operations are recorded within, also inside a `no_grad` block."""

    __slots__ = ()
    fixed = True


class set_grad_enabled(_Switch):
    """Recording on or off: from now on as a call, for a while as a context or decorator.

    Raises:
        TypeError: if the mode is not a bool.

    >>> import tape
    >>> with tape.set_grad_enabled(False):
    ...     tape.is_grad_enabled()
    False
    """

    __slots__ = ()

    def __init__(self, mode: bool):
        if not isinstance(mode, bool):
            raise TypeError(f"set_grad_enabled() takes True or False, which must be bool; got {mode!r}")
        super().__init__(mode)
        self._note()
        _switch(mode)

    def __enter__(self) -> None:
        """The call has switched already."""
        _switch(self.mode)

    def __call__(self, function: F) -> F:
        self.__exit__()
        return decorate(function, partial(_Switch, self.mode))

    def __repr__(self) -> str:
        return f"{__name__}.set_grad_enabled(mode={self.mode})"


class inference_mode:
    """Nothing is recorded within, not under `enable_grad` either, and what is made there stays out of every history.

    A tensor made within (``x.is_inference()``) cannot be changed in place outside, and no operation
    outside can save it for backward; a ``clone()`` of it can.  It takes part in operations that
    need not save it, as a constant.  ``inference_mode(False)`` leaves the mode, with gradients on.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> with tape.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    __slots__ = ("_before", "mode")

    def __new__(cls, mode: Any = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else decorate(mode, cls)

    def __init__(self, mode: bool = True):
        self.mode = mode
        self._before: list[tuple[WengertList, bool, int, bool | None]] = []

    def __enter__(self) -> None:
        wengert, ident = current(), get_ident()
        self._before.append((wengert, wengert.recording, ident, INFERRING.get(ident)))
        wengert.recording = not self.mode
        wengert.switched += type(self) is inference_mode and not self.mode
        wengert.stopped += self.mode
        if self.mode:
            EVER_INFERRED[:] = [True]
            INFERRING[ident] = False
        elif ident in INFERRING:
            del INFERRING[ident]

    def __exit__(self, *_: Any) -> None:
        # No call until all is as it was, so that no interrupt finds it half done.
        wengert, wengert.recording, ident, switched = self._before[-1]
        if switched is not None:
            INFERRING[ident] = switched
        elif ident in INFERRING:
            del INFERRING[ident]
        self._before.pop()

    def __call__(self, function: F) -> F:
        """Decorate a function: its body runs in this mode."""
        return decorate(function, partial(inference_mode, self.mode))


class differentiating(inference_mode):
    """Recording on, within `no_grad` and `inference_mode` too: a derivative does not depend on where it is taken.

    Its function may save what was made in inference mode, as nobody else sees what it records.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(False)

    def __enter__(self) -> None:
        super().__enter__()
        wengert, *_, switched = self._before[-1]
        wengert.inferred += switched is not None

    def __exit__(self, *error: Any) -> None:
        wengert, *_, switched = self._before[-1]
        wengert.inferred -= switched is not None
        super().__exit__()


_asked = threading.local()


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` has set in this thread."""
    return getattr(_asked, "multithreading", True)


class set_multithreading_enabled:
    """Taken so that programs which ask for it run: a backward here is swept by the thread that calls it.

    What was set is remembered: from now on as a call, for a while as a context or decorator.

    >>> with set_multithreading_enabled(False):
    ...     is_multithreading_enabled()
    False
    """

    __slots__ = ("_before", "mode")

    def __init__(self, mode: bool):
        self.mode, self._before = mode, is_multithreading_enabled()
        _asked.multithreading = mode

    def __enter__(self) -> None:
        """The call has set it already."""

    def __exit__(self, *_: Any) -> None:
        _asked.multithreading = self._before

    def __call__(self, function: F) -> F:
        """Decorate a function: its body runs with this set."""
        self.__exit__()
        return decorate(function, partial(set_multithreading_enabled, self.mode))
