"""Programs one after another, or in processes beside each other, watched while they run.

A line on the standard error says now and then how far it is.  It ends after the last program, after so many minutes,
with an interrupt or with SIGTERM, and what was found so far is there in each case.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from types import FrameType
from typing import Any

EVERY = 15.0
"""Seconds from one line about progress to the next."""

Look = Callable[[int], Any]
"""What runs the program of a seed, and gives what it found; a function of a module, for it is sent to processes."""


@dataclass(frozen=True)
class Ended:
    """What is found of a program that ended its process."""

    status: int | None

    def __str__(self) -> str:
        return f"its process ended, with exit code {self.status}"


@dataclass
class Run:
    """Many programs.

    Attributes:
        workers: how many processes run them; 1: this one does.
        minutes: after which no further program begins, None if there is no end.
        ran: how many have ended.
        amid: seeds of those that have begun and not ended.
        wrong: seeds of those that something was found wrong of.
        stopped: what ended the run before its last program, empty if nothing did.
    """

    workers: int = 1
    minutes: float | None = None
    ran: int = 0
    amid: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    stopped: str = ""
    began: float = field(default_factory=time.monotonic)
    said: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def of(self, seeds: Sequence[int], look: Look, take: Callable[[int, Any], bool]) -> None:
        """Look at the programs of seeds; each time take what was found, which says whether that is wrong.

        Where a process ended this is an `Ended`.
        """
        with self._stoppable():
            results = self._here(seeds, look) if self.workers == 1 else self._beside(seeds, look)
            try:
                for seed, found in results:
                    self.ran += 1
                    if take(seed, found):
                        self.wrong.append(seed)
                    self._tell(len(seeds))
            except KeyboardInterrupt:
                self.stopped = self.stopped or "interrupted"
            finally:
                results.close()

    def summary(self) -> str:
        """What there is to say of a run that ended early, after its other figures."""
        amid = f", amid {', '.join(map(str, self.amid))}" if self.amid else ""
        return f"; {self.stopped}{amid}" if self.stopped else ""

    def _goes_on(self) -> bool:
        if self.minutes is not None and self.seconds >= 60 * self.minutes:
            self.stopped = self.stopped or f"ended after {self.minutes:g} minutes"
        return not self.stopped

    def _tell(self, programs: int) -> None:
        if time.monotonic() - self.said >= EVERY:
            self.said = time.monotonic()
            rate = self.ran / self.seconds
            text = (
                f"{self.ran} of {programs} programs, {len(self.wrong)} wrong, {self.seconds:.0f} s, {rate:.2f} a second"
            )
            print(text, file=sys.stderr, flush=True)

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """SIGTERM is an interrupt, and one that comes where Python drops exceptions ends the run all the same."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.stopped = f"ended by {signal.Signals(number).name}"
            raise KeyboardInterrupt

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _here(self, seeds: Sequence[int], look: Look) -> Generator[tuple[int, Any], None, None]:
        for seed in seeds:
            if not self._goes_on():
                return
            self.amid = [seed]
            found = look(seed)
            self.amid = []
            yield seed, found

    def _beside(self, seeds: Sequence[int], look: Look) -> Generator[tuple[int, Any], None, None]:
        left = iter(seeds)
        idle = [Worker(look) for _ in range(min(self.workers, len(seeds)))]
        busy: dict[Any, Worker] = {}
        try:
            while True:
                while idle and self._goes_on() and (seed := next(left, None)) is not None:
                    worker = idle.pop()
                    worker.give(seed)
                    busy[worker.end] = worker
                self.amid = [worker.seed for worker in busy.values()]
                if not busy:
                    return
                for end in wait(list(busy)):
                    worker = busy.pop(end)
                    self.amid.remove(worker.seed)
                    found = worker.found()
                    idle.append(Worker(look) if isinstance(found, Ended) else worker)
                    yield worker.seed, found
        finally:
            for worker in [*idle, *busy.values()]:
                worker.process.terminate()


class Worker:
    """A process that looks at one program after another.

    Attributes:
        end: where what it found comes from.
        seed: of the program that it was given last.
    """

    def __init__(self, look: Look):
        processes = multiprocessing.get_context("spawn")
        self.end, other = processes.Pipe()
        self.process = processes.Process(target=serve, args=(other, look), daemon=True)
        self.process.start()
        other.close()
        self.seed = -1

    def give(self, seed: int) -> None:
        self.seed = seed
        self.end.send(seed)

    def found(self) -> Any:
        try:
            return self.end.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            return Ended(self.process.exitcode)


def serve(end: Connection, look: Look) -> None:
    """Look at the programs whose seeds come; an interrupt of the terminal is for who sends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            seed = end.recv()
        except EOFError:
            return
        end.send(look(seed))
