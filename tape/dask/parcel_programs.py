"""A parcel opened on a worker: its program, and the paths that were recorded there because a guard missed.

What is recorded is the function of a block that workers evaluate, by name, made of the user's.  Only the name and the
user's own function travel, where one has to travel; the worker makes the rest from its library.
"""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import cloudpickle
import numpy as np

from ..base.locks import new_lock
from ..base.tree import build, leaves_of, structure_of, transform
from ..func import grad, grad_and_value, jacfwd, jvp
from ..program import GuardMissed, Untraceable
from ..program.capture.record_call import record_call
from ..program.capture.signature import CallArguments, take_apart
from ..program.compiling import MOST_PATHS
from ..program.entries.decision_tree import Path
from ..program.recorded.guards import shown
from ..program.recorded_program import Program, from_bytes
from ..program.world.looking import surroundings
from .parcel import Parcel, checked


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


def value_and_grad(loss: Callable[..., Any]) -> Callable[..., Any]:
    """(w, *blocks) ↦ value and gradient."""
    both = grad_and_value(loss)

    def value_and_gradient(parameters: Any, *blocks: Any) -> Any:
        gradient, value = both(parameters, *blocks)
        return value, gradient

    return value_and_gradient


def hvp(loss: Callable[..., Any]) -> Callable[..., Any]:
    """(w, v, *blocks) ↦ H v, forward over reverse."""
    gradient = grad(loss)

    def product(parameters: Any, vector: Any, *blocks: Any) -> Any:
        return jvp(lambda w: gradient(w, *blocks), (parameters,), (vector,))[1]

    return product


def gauss_newton(residual: Callable[..., Any]) -> Callable[..., Any]:
    """(w, *blocks) ↦ JᵀJ and Jᵀr, of the parameters and the residuals laid out as vectors."""

    def normal_equations(parameters: Any, *blocks: Any) -> Any:
        structure, leaves = structure_of(parameters), leaves_of(parameters)

        def twice(*ws: Any) -> Any:
            found = residual(build(structure, ws), *blocks)
            if isinstance(found, (dict, list, tuple)):
                raise TypeError(
                    f"tape.dask.gauss_newton() requires residuals in one array; got a {type(found).__name__} of "
                    f"{len(found)}.\nPut them together: np.concatenate([r.ravel(), s.ravel()])."
                )
            r = np.reshape(found, -1)
            return r, r

        jacobians, r = jacfwd(twice, tuple(range(len(leaves))), has_aux=True)(*leaves)
        J = np.concatenate([np.reshape(j, (r.shape[0], -1)) for j in jacobians], axis=1)
        return J.T @ J, J.T @ r

    return normal_equations


DERIVED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "map": plain,
    "value-and-grad": value_and_grad,
    "hvp": hvp,
    "gauss-newton": gauss_newton,
}


MOST_OPEN = 256
"""So many parcels are kept open in a process; the one that was used longest ago is opened again when it comes back."""

_open: OrderedDict[str, ParcelPrograms] = OrderedDict()
_lock = new_lock()


class PathReport(NamedTuple):
    """A path through the function that was taken on a worker.

    Attributes:
        worker: its address; None in this process.
        decisions: what was asked of values, what it gave, and where; or, of what runs as it is, why.
        recorded_there: whether it was recorded on the worker, because no other path held.
        replays: how many blocks went that way.
    """

    worker: str | None
    decisions: tuple[str, ...]
    recorded_there: bool
    replays: int


class ParcelPrograms:
    """The programs of a parcel in this process."""

    def __init__(self, parcel: Parcel):
        self.parcel = parcel
        self.roots: dict[Any, Path | str] = {}
        self.sent = None if parcel.program is None else from_bytes(parcel.program)
        if self.sent is not None:
            self.roots[self.sent.key] = Path(self.sent)
        self.ordered, self.count, self.ran_eagerly = parcel.ordered, 0, 0
        self._function: Callable[..., Any] | None = None
        self._growing = new_lock()

    def __call__(self, *args: Any) -> Any:
        """What the function gives for arguments of one block."""
        sent = self.sent
        if sent is not None and not sent.guards:
            return sent(*(self._laid_out(args)))
        call = take_apart(self._laid_out(args), {})
        if self.parcel.eager is not None:
            return self._eagerly(args)
        last: Path | None = None
        missed: GuardMissed | None = None
        path = self.roots.get(call.key)
        while isinstance(path, Path):
            try:
                return path.program.run(call.given)
            except GuardMissed as miss:
                last, missed, path = path, miss, path.branch(miss)
        if path is not None:
            return self._eagerly(args)
        return self._record(args, call, last, missed)

    def _laid_out(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments in the order in memory that the program is for."""
        return laid_out(args) if self.ordered else args

    def _record(self, args: tuple[Any, ...], call: CallArguments, last: Path | None, missed: GuardMissed | None) -> Any:
        """Record the path that these arguments take, and run it.

        When there are too many to keep, it is recorded for these arguments alone: what a block gives must not depend
        on which others its worker had before.
        """
        function = self._function_for(missed)
        around = surroundings(function)
        try:
            recorded = record_call(function, args, {}, call.given, False, around)
        except Untraceable as reason:
            return self._give_up(args, call, last, str(reason))
        except Exception:
            return self._eagerly(args)  # which raises what the function raises, in its own lines
        self.ordered = self.ordered or recorded.ordered
        program = Program(recorded.listing, recorded.results, call.key, self.parcel.tier, threads=1)
        program.expect(call.given)
        try:
            results = program.run(call.given)
        except GuardMissed:  # rounding decides, and a kernel rounds otherwise than NumPy
            return self._eagerly(args)
        with self._growing:
            if self.count < MOST_PATHS:
                self.count += 1
                if last is None or missed is None:
                    self.roots.setdefault(call.key, Path(program))
                else:
                    last.branches.append((missed.index, copy.copy(missed.value), Path(program)))
        return results

    def _give_up(self, args: tuple[Any, ...], call: CallArguments, last: Path | None, reason: str) -> Any:
        if last is None:
            self.roots[call.key] = reason
            warn(f"{self.parcel.name} runs as it is on blocks like this one: {reason}.")
        return self._eagerly(args)

    def _eagerly(self, args: tuple[Any, ...]) -> Any:
        function = self._function_for(None)
        self.ran_eagerly += 1
        return function(*args)

    def _function_for(self, missed: GuardMissed | None) -> Callable[..., Any]:
        """The function that is recorded here; the user's own is unpickled when it is first needed."""
        if self._function is None:
            function = self.parcel.function
            if function is None:
                assert missed is not None
                missed.add_note(f"{self.parcel.name} cannot be pickled, so that no other path can be recorded here.")
                raise missed
            own = cloudpickle.loads(function) if isinstance(function, bytes) else function
            self._function = DERIVED[self.parcel.kind](own)
        return self._function

    def reports(self, worker: str | None) -> list[PathReport]:
        """What was taken here."""
        found: list[PathReport] = []
        queue = [root for root in list(self.roots.values()) if isinstance(root, Path)]
        while queue:
            path = queue.pop(0)
            program, replays = path.program, path.program.counter.value - path.program.missed
            decisions = tuple([f"{g.what} gives {shown(g.seen)} at {g.location}" for g in program.guards])
            if replays:
                found.append(PathReport(worker, decisions, program is not self.sent, replays))
            queue += [p for _, _, p in path.branches]
        if self.ran_eagerly:
            reasons = {root for root in self.roots.values() if isinstance(root, str)}
            eager = self.parcel.eager or "; ".join(sorted(reasons)) or "it could not be recorded"
            found.append(PathReport(worker, (f"runs as it is: {eager}",), True, self.ran_eagerly))
        return found


def laid_out(x: Any) -> Any:
    """Arguments with their arrays in row-major order."""
    return transform(lambda leaf: np.ascontiguousarray(leaf) if isinstance(leaf, np.ndarray) else leaf, x)


def warn(message: str) -> None:
    """A warning that reaches the user, also from a worker."""
    try:
        from distributed.worker import warn as remote
    except ImportError:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    else:
        remote(message, RuntimeWarning)


def opened(travelled: tuple[Any, ...]) -> ParcelPrograms:
    """A parcel's programs; each parcel is opened once in a process."""
    with _lock:
        found = _open.get(travelled[1])
        if found is None:
            parcel = checked(travelled, here() or "this process")
            found = _open[parcel.digest] = ParcelPrograms(parcel)
            while len(_open) > MOST_OPEN:
                _open.popitem(last=False)
        else:
            _open.move_to_end(travelled[1])
        return found


def here() -> str | None:
    """The address of the worker whose task this is; None outside of workers."""
    try:
        from distributed import get_worker

        return str(get_worker().address)
    except (ImportError, ValueError):
        return None


def reports(digests: list[str], dask_worker: Any = None) -> list[PathReport]:
    """What was taken in this process of the parcels with these digests."""
    address = getattr(dask_worker, "address", None)
    return [r for d in digests if d in _open for r in _open[d].reports(address)]
