"""``tape.compile``: a function that is recorded when it is first called, and replayed from then on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .capture.required import require_count, require_function, require_options
from .compiled import CompiledFunction, P, R

MOST_PATHS = 32


def compile(
    function: Callable[..., Any] | None = None,
    *,
    tier: str | None = None,
    threads: int | None = None,
    most_paths: int = MOST_PATHS,
    most_memory: int | None = None,
    assume_constant: Iterable[Any] = (),
) -> Any:
    """A function that is recorded when it is first called with arguments of some shapes, and replayed after.

    Whenever the function looks at a value (``if x > 0``, ``float(x)``, ``x.numpy()``), every replay verifies
    that the value is the same, and another path through the function is recorded where it is not.

    Args:
        function: takes and returns arrays, tensors, numbers, and tuples, lists and dicts of them.  Arrays in
            give arrays out: views of arguments where NumPy gives views, else new arrays in row-major order.  Tensors in
            give tensors out, which can be differentiated to any order, also where it changes in place what a gradient
            needs, which a backward of the function itself refuses.  Python's floats are NumPy's inside, unless it runs
            as it is.
        tier: ``"interpret"`` compiles nothing, ``"quick"`` little, ``"optimised"`` as well as LLVM can; by default
            the first of them, and the next when it has run so often that compiling would have paid.
        threads: how many threads share large work; by default as many as there are processors.
        most_paths: how many paths are kept, and how many values of an argument that is no array or float; where there
            are more, the function runs as it is, with a warning.
        most_memory: how many bytes a replay may take for its own arrays, arguments not counted, and how many recording
            keeps of what the function looks at (more only where one look needs them); None for no bound.
        assume_constant: functions, modules and other objects that are not looked at: that they, and all that is read
            through them, stay what they are is your promise.

    Also watched is everything that the function may read around it: globals, closures, defaults, attributes, classes,
    modules, containers, arrays.  A function that reads what is not known to stay what it is (a clock, a file, an
    iterator, a function written in C that is not known), that prints, draws random numbers or changes its arguments
    runs as it is, with a warning that says why.  So do calls where `np.errstate` makes floating-point errors raise,
    print or call something.  A replay that makes one of which NumPy would warn, and Python show the warning, is
    followed by a call of the function itself, which warns as ever; where warnings are shown once for each place, one of
    a kind is enough.  Values that no result needs are computed for their errors alone (the sum of squares of which the
    gradient is wanted), or what makes the same ones for less (a root for a logarithm); not decompositions.

    Raises:
        TypeError, ValueError: if it is not given a function that returns its result, or options as above.
        MemoryError: in a call, before anything large was allocated, if its replay would take more than `most_memory`.

    >>> import numpy as np, tape
    >>> @tape.compile
    ... def f(x):
    ...     return (x * x + 1.0).sum()
    >>> f(np.array([1.0, 2.0]))
    np.float64(7.0)
    """
    require_options(tier, threads)
    require_count(most_paths, "most_paths")
    if most_memory is not None:
        require_count(most_memory, "most_memory", "; None for no bound")
    constant = tuple(assume_constant)

    def compiled(f: Callable[P, R]) -> CompiledFunction[P, R]:
        require_function(f, "tape.compile")
        return CompiledFunction(f, tier, threads, most_paths, constant, most_memory)

    return compiled if function is None else compiled(function)
