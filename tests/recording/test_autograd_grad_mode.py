"""Grad modes: contexts, decorators of every kind of function, threads, exceptions."""

import asyncio
import threading

import pytest

import tape


def records():
    return (tape.ones(1, requires_grad=True) * 2).requires_grad


def test_contexts_nest_and_restore():
    assert records()
    with tape.no_grad():
        assert not records()
        with tape.enable_grad():
            assert records()
        assert not records()
        with tape.set_grad_enabled(True):
            assert records()
    assert records()


def test_restored_after_an_exception():
    with pytest.raises(KeyError), tape.no_grad():
        raise KeyError
    assert records()


def test_one_object_entered_twice():
    off = tape.no_grad()
    with off, off:
        assert not records()
    assert records()


def test_set_grad_enabled_as_a_call():
    tape.set_grad_enabled(False)
    try:
        assert not tape.is_grad_enabled()
    finally:
        tape.set_grad_enabled(True)
    assert tape.is_grad_enabled()


@pytest.mark.parametrize(
    "decorate", [tape.no_grad, lambda f: tape.no_grad()(f), lambda f: tape.set_grad_enabled(False)(f)]
)
def test_decorated_function(decorate):
    @decorate
    def work(flag, *, other):
        """Its doc."""
        return flag, other, records()

    assert work(1, other=2) == (1, 2, False)
    assert (work.__name__, work.__doc__) == ("work", "Its doc.")
    assert records()


def test_decorated_generator():
    @tape.no_grad()
    def numbers():
        received = yield records()
        try:
            yield received, records()
        except KeyError:
            yield "caught", records()
        return records()

    steps = numbers()
    assert next(steps) is False
    assert records()
    assert steps.send("hello") == ("hello", False)
    assert steps.throw(KeyError) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value is False
    assert records()


def test_closing_a_decorated_generator():
    closed = []

    @tape.no_grad
    def numbers():
        try:
            yield 1
        finally:
            closed.append(records())

    steps = numbers()
    next(steps)
    steps.close()
    assert closed == [False]


def test_decorated_coroutine():
    @tape.no_grad()
    async def work():
        before = records()
        await asyncio.sleep(0)
        return before, records()

    async def main():
        other = []

        async def beside():
            other.append(records())

        result, _ = await asyncio.gather(work(), beside())
        return result, other

    assert asyncio.run(main()) == ((False, False), [True])


def test_decorated_async_generator():
    @tape.no_grad()
    async def numbers():
        for k in range(3):
            await asyncio.sleep(0)
            yield k, records()

    async def main():
        return [(*item, records()) async for item in numbers()]

    assert asyncio.run(main()) == [(0, False, True), (1, False, True), (2, False, True)]


def test_each_thread_has_its_own_mode():
    seen = []
    with tape.no_grad():
        thread = threading.Thread(target=lambda: seen.append(records()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_leaves_are_made_under_no_grad():
    with tape.no_grad():
        x = tape.ones(1, requires_grad=True)
    assert x.requires_grad


def test_multithreading_is_remembered():
    def seen():
        return tape.autograd.is_multithreading_enabled()

    assert seen()
    with tape.autograd.set_multithreading_enabled(False):
        assert not seen()
        tape.autograd.set_multithreading_enabled(True)
        assert seen()
    assert seen()
    off = tape.autograd.set_multithreading_enabled(False)(seen)
    assert seen()
    assert not off()
    tape.autograd.set_multithreading_enabled(False)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(seen()))
    thread.start()
    thread.join()
    assert (seen(), elsewhere) == (False, [True])
    tape.autograd.set_multithreading_enabled(True)
    assert seen()
