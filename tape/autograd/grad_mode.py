"""Switching recording off and on: ``no_grad``, ``enable_grad``, ``set_grad_enabled``.

Each works as a context and as a decorator, with or without parentheses, of functions, generators,
coroutines and asynchronous generators.  The switch belongs to the thread, and goes back when the
block is left, by an exception too.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..wengert import current

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]


def is_grad_enabled() -> bool:
    """Whether this thread records operations.

    >>> is_grad_enabled()
    True
    """
    return current().recording


class _Switch:
    """Recording set to `mode` while entered; may be entered again before it is left."""

    __slots__ = ("_before", "mode")

    def __init__(self, mode: bool):
        self.mode = mode
        self._before: list[bool] = []

    def __enter__(self) -> None:
        wengert = current()
        self._before.append(wengert.recording)
        wengert.recording = self.mode

    def __exit__(self, *_: Any) -> None:
        current().recording = self._before.pop()

    def __call__(self, function: F) -> F:
        """Decorate a function: its body runs in this mode."""
        return decorate(function, self.mode)


class _FixedSwitch(_Switch):
    """A switch whose mode is known, so that ``@no_grad`` works without parentheses."""

    __slots__ = ()
    fixed: bool

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else decorate(function, cls.fixed)

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

    >>> import tape
    >>> with tape.set_grad_enabled(False):
    ...     tape.is_grad_enabled()
    False
    """

    __slots__ = ()

    def __init__(self, mode: bool):
        super().__init__(bool(mode))
        wengert = current()
        self._before.append(wengert.recording)
        wengert.recording = self.mode

    def __enter__(self) -> None:
        """The call has switched already."""
        current().recording = self.mode

    def __call__(self, function: F) -> F:
        current().recording = self._before.pop()
        return decorate(function, self.mode)

    def __repr__(self) -> str:
        return f"set_grad_enabled({self.mode})"


def decorate(function: Any, mode: bool) -> Any:
    """A function, generator, coroutine or asynchronous generator whose body runs in a mode."""
    if inspect.isclass(function):
        warnings.warn(
            f"Decorating classes is deprecated, and turns {function.__name__} into a function whose instances are made in "
            "that mode; its methods run as ever.\nDecorate __init__, or the methods that are meant.",
            FutureWarning,
            stacklevel=3,
        )
    if inspect.isasyncgenfunction(function):
        return functools.wraps(function)(lambda *args, **kwargs: _async_generator(function(*args, **kwargs), mode))
    if inspect.iscoroutinefunction(function):
        return functools.wraps(function)(_coroutine(function, mode))
    if inspect.isgeneratorfunction(function):
        return functools.wraps(function)(_generator(function, mode))

    @functools.wraps(function)
    def within(*args: Any, **kwargs: Any) -> Any:
        with _Switch(mode):
            return function(*args, **kwargs)

    return within


def _coroutine(function: Any, mode: bool) -> Callable[..., Any]:
    async def within(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(function(*args, **kwargs), mode)

    return within


def _generator(function: Any, mode: bool) -> Callable[..., Any]:
    def within(*args: Any, **kwargs: Any) -> Any:
        return (yield from _steps(function(*args, **kwargs), mode))

    return within


def _steps(generator: Any, mode: bool) -> Generator[Any, Any, Any]:
    """Drive a generator or coroutine, each step of it in a mode; the caller runs in the caller's own."""
    send, argument = generator.send, None
    while True:
        try:
            with _Switch(mode):
                item = send(argument)
        except StopIteration as stop:
            return stop.value
        try:
            send, argument = generator.send, (yield item)
        except GeneratorExit:
            with _Switch(mode):
                generator.close()
            raise
        except BaseException as error:
            send, argument = generator.throw, error


@types.coroutine
def _awaited(awaitable: Any, mode: bool) -> Generator[Any, Any, Any]:
    return (yield from _steps(awaitable, mode))


async def _async_generator(generator: Any, mode: bool) -> Any:
    step: Any = generator.asend
    arguments: tuple[Any, ...] = (None,)
    while True:
        try:
            item = await _awaited(step(*arguments).__await__(), mode)
        except StopAsyncIteration:
            return
        try:
            step, arguments = generator.asend, ((yield item),)
        except GeneratorExit:
            await _awaited(generator.aclose().__await__(), mode)
            raise
        except BaseException as error:
            step, arguments = generator.athrow, (error,)
