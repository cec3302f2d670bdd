"""Trading time for memory: values that backward needs are computed again instead of being kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from ..base.rooms import opened
from ..base.tensor import Face
from ..base.tree import leaves_of
from .recompute import CheckpointError, Frame

__all__ = [
    "CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]  # fmt: skip

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_early_stop: bool | None = None


def noop_context_fn() -> Contexts:
    """The contexts of a checkpoint that asks for none."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which nothing is kept for backward but the arguments.

    When backward needs a value that the operations within would have saved, the function runs again
    and all of them are there until they have been used.  It must compute the same again.  Checkpoints
    may be nested, and differentiated more than once.

    Args:
        function: what to compute.
        args, kwargs: its arguments; tensors among them may be changed in place afterwards, or by the function.
        use_reentrant: either of PyTorch's two ways; there is only one here, which does what both do.
        context_fn: gives two contexts: the function runs within the first, and again within the second.
        determinism_check: ``"default"`` compares shapes and dtypes of what is computed again, ``"none"`` nothing.
        debug: changes nothing, because errors name the operations and lines anyway.
        early_stop: run again only as far as values are needed.
        preserve_rng_state: let tape's and NumPy's generators give the same numbers again.

    Raises:
        ValueError: for another ``determinism_check``.
        CheckpointError: in backward, if the function computes something else, or a leaf that it reads was changed.

    >>> import tape
    >>> x = tape.tensor([0.0, 1.0], requires_grad=True)
    >>> y = checkpoint(lambda x: (x.exp() * x).sum(), x)
    >>> y.backward()
    >>> x.grad
    tensor([1.0000, 5.4366])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ('default', 'none') but got {determinism_check!r}")
    if any(isinstance(x, Face) for x in leaves_of((args, kwargs))):
        inside = opened("tape.numpy.inside")
        how: Any = {"context_fn": context_fn, "determinism_check": determinism_check, "early_stop": early_stop}
        run = partial(
            checkpoint, inside.Inside(function, gives_arrays=True), preserve_rng_state=preserve_rng_state, **how
        )
        return inside.of_tensors(run, args, kwargs)
    first, second = context_fn()
    stop = early_stop if _early_stop is None else _early_stop
    frame = Frame(function, args, kwargs, second, determinism_check == "default", stop, preserve_rng_state)
    with first:
        return frame.run()


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Apply functions one after another, in segments that are checkpoints, all but the last.

    Args:
        functions: the functions, or an object whose ``children()`` they are.
        segments: how many.
        input: what the first function gets; each other one gets what the one before returned.
        use_reentrant: as in `checkpoint`.
        kwargs: ``preserve_rng_state``, as in `checkpoint`.

    Raises:
        ValueError: for other arguments by name, or a number of segments that cannot be.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> checkpoint_sequential([tape.exp, tape.log, tape.sqrt], 2, x).sum().backward()
    >>> x.grad
    tensor([0.5000, 0.5000])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}; only preserve_rng_state is taken")
    steps = list(functions.children() if hasattr(functions, "children") else functions)
    if not 1 <= segments <= max(len(steps), 1):
        raise ValueError(f"{len(steps)} functions can be cut into 1 to {len(steps)} segments; got {segments}")
    size = len(steps) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        segment = _chained(steps[start : start + size])
        input = checkpoint(segment, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chained(steps[last:])(input)


def _chained(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return run


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within, ``early_stop`` of every `checkpoint` is this."""
    global _early_stop
    before = _early_stop
    try:
        _early_stop = enable
        yield
    finally:
        _early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Taken so that programs which ask for it run: errors name the operations and lines anyway."""
    yield
