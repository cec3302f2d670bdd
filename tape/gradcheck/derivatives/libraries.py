"""The gradient under check, of a function written in another library: by that library's own reverse mode.

Each library is three things: how NumPy's values become its own, how its own become NumPy's, and a
pullback.  A library is imported when a function of it is checked.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from .gradcheck_errors import GradcheckError
from .hand_written import Written
from .subject import Array, Jacobian, named, units

Pullback = Callable[[Array], Sequence[Any]]
"""From an adjoint of the output to those of the inputs, None for an input that the output does not depend on."""


class Library:
    """How a library's functions are called and differentiated.

    Attributes:
        name: what it is imported by.
    """

    name: str

    def native(self, x: Any) -> Any:
        """An array or a number as the library's own; anything else as it is."""
        raise NotImplementedError

    def plain(self, x: Any) -> Any:
        """What the library's functions give, as a NumPy value; anything else as it is."""
        raise NotImplementedError

    def pullback(self, func: Callable[..., Any], xs: Sequence[Array]) -> Pullback:
        """The vector-Jacobian product of a function of one output, at some arrays."""
        raise NotImplementedError

    def around(self) -> AbstractContextManager[Any]:
        """What has to hold while the library's functions are called."""
        return nullcontext()


class Torch(Library):
    """PyTorch; its functions get tensors."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = import_module("torch")

    def native(self, x: Any) -> Any:
        return self.torch.tensor(np.array(x)) if _numeric(x) else x

    def plain(self, x: Any) -> Any:
        return x.detach().resolve_conj().numpy() if isinstance(x, self.torch.Tensor) else x

    def pullback(self, func: Callable[..., Any], xs: Sequence[Array]) -> Pullback:
        leaves = [self.native(x).requires_grad_() for x in xs]
        out = func(*leaves)
        if not (isinstance(out, self.torch.Tensor) and out.requires_grad):
            return lambda g: [None] * len(xs)
        pull = functools.partial(self.torch.autograd.grad, retain_graph=True, allow_unused=True)
        return lambda g: [self.plain(bar) for bar in pull([out], leaves, [self.native(g)])]


class Jax(Library):
    """JAX; its functions get arrays of 64 bits where ours have them."""

    name = "jax"

    def __init__(self) -> None:
        self.jax = import_module("jax")

    def native(self, x: Any) -> Any:
        return self.jax.numpy.asarray(x) if _numeric(x) else x

    def plain(self, x: Any) -> Any:
        return np.array(x)[()] if isinstance(x, self.jax.Array) else x

    def pullback(self, func: Callable[..., Any], xs: Sequence[Array]) -> Pullback:
        out, pull = self.jax.vjp(func, *map(self.native, xs))
        return lambda g: [np.asarray(bar) for bar in pull(self.native(np.asarray(g, dtype=out.dtype)))]

    def around(self) -> AbstractContextManager[Any]:
        newer = hasattr(self.jax, "enable_x64")  # older versions have it among what is experimental
        return (self.jax if newer else import_module("jax.experimental")).enable_x64(True)


class Autograd(Library):
    """HIPS/autograd; its functions get NumPy's arrays."""

    name = "autograd"

    def __init__(self) -> None:
        self.make_vjp = import_module("autograd").make_vjp

    def native(self, x: Any) -> Any:
        return x

    def plain(self, x: Any) -> Any:
        return x

    def pullback(self, func: Callable[..., Any], xs: Sequence[Array]) -> Pullback:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Output seems independent of input")  # then the adjoint is zero
            pulls = [self.make_vjp(func, k)(*xs)[0] for k in range(len(xs))]
        return lambda g: [pull(g) for pull in pulls]


LIBRARIES: dict[str, type[Library]] = {kind.name: kind for kind in (Torch, Jax, Autograd)}


def library(name: str) -> Library:
    """A library by its name.

    Raises:
        ValueError: if there is none of that name, or it is not installed.
    """
    if name not in LIBRARIES:
        raise ValueError(f"a gradient can be checked of {', '.join(LIBRARIES)}, or of tape itself; got {name!r}")
    if find_spec(name) is None:
        raise ValueError(f"{name} is not installed, so its gradients cannot be checked; pip install {name}")
    return LIBRARIES[name]()


class Foreign(Written):
    """A function written in another library, whose gradient is the library's.

    Args:
        library: whose.
    """

    def __init__(
        self, func: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], names: Sequence[str],
        library: Library,
    ):  # fmt: skip
        self.native, self.peer, self.mode = func, library, library.name

        @functools.wraps(func)
        def on_arrays(*values: Any) -> Any:
            return self._on_arrays(*values)

        super().__init__(on_arrays, [library.plain(x) for x in inputs], wrt, names, func)
        self.func = on_arrays

    def jacobian(self, arrays: Sequence[Array]) -> Jacobian:
        """What the library says: a pullback for each output, and in it one adjoint after the other.

        Raises:
            Unfit: if something is complex.
            GradcheckError: if a gradient does not have the shape of its input.
        """
        self.check_real(arrays)
        rows: list[list[Array]] = [[] for _ in arrays]
        given = self.arguments(arrays)
        xs = [np.asarray(given[i])[()] for i in self.wrt]
        with self.peer.around():
            for axis in self.output_axes:
                pull = self.peer.pullback(functools.partial(self._output, axis.name, given), xs)
                for g in units(np.zeros(axis.shape, axis.dtype)):
                    for row, bar, x, i in zip(rows, pull(g), arrays, self.wrt):
                        row.append(self._fitting(bar, x, self.names[i]))
        return Jacobian([np.array(row).reshape(len(row), x.size) for row, x in zip(rows, arrays)])

    def _on_arrays(self, *values: Any) -> Any:
        """The function of NumPy's values."""
        with self.peer.around():
            result = self.native(*map(self.peer.native, values))
            found = {name: self.peer.plain(out) for name, out in named(result).items()}
        if isinstance(result, Mapping):
            return found
        return tuple(found.values()) if isinstance(result, (tuple, list)) else found["output"]

    def _output(self, name: str, given: list[Any], *xs: Any) -> Any:
        """One output, as the library's own, as a function of the checked inputs."""
        arguments = [self.peer.native(x) for x in given]
        for i, x in zip(self.wrt, xs):
            arguments[i] = x
        return named(self.native(*arguments))[name]

    def _fitting(self, bar: Any, x: Array, name: str) -> Array:
        if bar is None:
            return np.zeros(x.size)
        if np.shape(bar) != x.shape:
            raise GradcheckError(
                f"Analytical gradient has incorrect size: that of {self.peer.name} for {name} has shape "
                f"{np.shape(bar)}; it must have the input's, {x.shape}"
            )
        return np.asarray(bar, dtype=np.float64).ravel()


def _numeric(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, float, complex)) and np.asarray(x).dtype.kind in "biufc"
