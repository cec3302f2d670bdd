"""Decorators that run the body of a function within a context: of generators and coroutines, every step of it."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

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
