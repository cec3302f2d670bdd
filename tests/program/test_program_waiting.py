"""What several threads do for one call has ended when the call has, however it ends."""

from __future__ import annotations

import _thread
import time

import pytest

from tape.program.plans.threads import share


def test_an_interrupted_call_waits_for_its_threads() -> None:
    done = []

    def run(part: int) -> None:
        if part:
            time.sleep(0.05)
            _thread.interrupt_main()
            time.sleep(0.2)
        done.append(part)

    with pytest.raises(KeyboardInterrupt):
        share(run, range(2))
    assert sorted(done) == [0, 1]


def test_what_a_thread_raises_is_raised() -> None:
    def run(part: int) -> None:
        if part:
            raise ValueError("a part")

    with pytest.raises(ValueError, match="a part"):
        share(run, range(3))
