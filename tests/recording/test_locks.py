"""What several threads ask for at the same moment."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from tape.base.locks import new_lock, once


def test_what_is_made_once_is_made_by_one_thread():
    made = []
    begin = threading.Barrier(8)

    @once
    def costly(n):
        made.append(n)
        time.sleep(0.02)
        return object()

    def ask(_):
        begin.wait()
        return costly(3)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert made == [3]


@pytest.mark.parametrize("event", ["call", "c_return"])
def test_an_interrupt_on_the_way_in_leaves_a_lock_free(event):
    """CPython 3.14 looks for signals between a built-in `__enter__` and the body of a ``with``."""
    lock = new_lock()

    def interrupt(frame, happens, argument):
        inside = frame.f_code.co_name in ("hold", "__enter__")
        if happens == event and inside and getattr(argument, "__name__", "") in ("__enter__", "acquire", ""):
            sys.setprofile(None)
            raise KeyboardInterrupt

    def hold():
        with lock:
            pass

    with suppress(KeyboardInterrupt):
        sys.setprofile(interrupt)
        try:
            hold()
        finally:
            sys.setprofile(None)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lock.acquire, False).result()
