"""The gradient under check: ours, through a reverse sweep for every output element, or the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..backward import grad
from ..leaf import leaf
from ..tensor import Tensor
from .errors import GradcheckError, Unfit
from .subject import Array, Subject, has_history, plain


@dataclass
class Jacobian:
    """Derivatives of every output element with respect to every element of the checked inputs.

    Attributes:
        blocks: per checked input, an array (output elements, input elements) in float64.
        detached: names of the outputs that have no history, so that their gradient is nothing but zero.
        dtypes: per checked input, the dtypes that its gradients had.
    """

    blocks: list[Array]
    detached: list[str] = field(default_factory=list)
    dtypes: list[set[np.dtype[Any]]] = field(default_factory=list)


def sweep_jacobian(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    """The Jacobian by reverse sweeps, one for each output element.

    Raises:
        GradcheckError: if a gradient does not have the shape of its input.
    """
    given = subject.arguments(arrays)
    leaves = [given[i] for i in subject.wrt]
    outs = subject.outputs(subject.func(*given))
    jacobian = Jacobian([], dtypes=[set() for _ in leaves])
    rows: list[list[Array]] = [[] for _ in leaves]
    for name, out in zip(subject.output_names, outs):
        live = has_history(out)
        if not live:
            jacobian.detached.append(name)
        for g in _unit_adjoints(plain(out)):
            found = pull([out], leaves, [g]) if live else [None] * len(leaves)
            for k, bar in enumerate(found):
                rows[k].append(_row(bar, leaves[k], subject.names[subject.wrt[k]]))
                if bar is not None:
                    jacobian.dtypes[k].add(bar.dtype)
    jacobian.blocks = [np.array(row).reshape(len(row), x.size) for row, x in zip(rows, arrays)]
    return jacobian


def pull(outs: Sequence[Tensor], leaves: Sequence[Tensor], gs: Sequence[Array]) -> Sequence[Tensor | None]:
    """Vector-Jacobian products, None for an input that the outputs do not depend on."""
    return grad(outs, leaves, [leaf(g) for g in gs], retain_graph=True, allow_unused=True)


def _unit_adjoints(value: Any) -> Any:
    """One after the other, the adjoints that select each element of an output."""
    value = np.asarray(value)
    for k in range(value.size):
        g = np.zeros(value.shape, dtype=value.dtype)
        g.flat[k] = 1.0
        yield g[()]


def _row(bar: Any, x: Tensor, name: str) -> Array:
    if bar is None:
        return np.zeros(np.size(plain(x)))
    if np.shape(plain(bar)) != np.shape(plain(x)):
        raise GradcheckError(
            f"the gradient for {name} has shape {np.shape(plain(bar))}; it must have the input's, {np.shape(plain(x))}"
        )
    return np.asarray(plain(bar), dtype=np.float64).ravel()


def _on_arrays_or_tensors(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function of plain arrays; if the first call shows that it takes none, of tensors."""
    known: list[Callable[[Any], Any]] = []

    @functools.wraps(func)
    def call(*values: Any) -> Any:
        if known:
            return func(*map(known[0], values))
        try:
            result, way = func(*values), _as_it_is
        except Exception as error:
            try:
                result, way = func(*map(_as_tensor, values)), _as_tensor
            except Exception:
                raise error from None
        known.append(way)
        return result

    return call


def _as_it_is(x: Any) -> Any:
    return x


def _as_tensor(x: Any) -> Any:
    return leaf(x) if isinstance(x, (np.ndarray, np.floating)) else x


class Written(Subject):
    """A function whose gradient the user wrote by hand: both run on plain arrays, or if that fails on tensors.

    Args:
        gradient: called with the same inputs as the function; returns the gradient with respect
            to the checked inputs: an array for one, a tuple or list in their order, or a dict by
            name.  A function with an output of shape s has gradients of shape s + the input's.
    """

    def __init__(
        self, func: Callable[..., Any], inputs: Sequence[Any], wrt: Sequence[int], names: Sequence[str],
        gradient: Callable[..., Any],
    ):  # fmt: skip
        super().__init__(_on_arrays_or_tensors(func), inputs, wrt, names)
        self.gradient = _on_arrays_or_tensors(gradient)

    def arguments(self, arrays: Sequence[Array]) -> list[Any]:
        """All arguments of one call, as NumPy values of their own."""
        given = [np.array(x)[()] if isinstance(x, np.ndarray) else x for x in map(plain, self.inputs)]
        for i, x in zip(self.wrt, arrays):
            given[i] = np.array(x)[()]
        return given

    def jacobian(self, arrays: Sequence[Array]) -> Jacobian:
        """What the user's function says.

        Raises:
            Unfit: if there are several outputs, or a gradient is missing or has the wrong shape.
        """
        if len(self.shapes) != 1:
            raise Unfit(f"a gradient written by hand is checked for one output; {self.title} has {len(self.shapes)}")
        wanted = [self.names[i] for i in self.wrt]
        parts = self._parts(self.gradient(*self.arguments(arrays)), wanted)
        blocks, dtypes = [], []
        for name, given, x in zip(wanted, parts, arrays):
            part = np.asarray(plain(given))
            expected = (*self.shapes[0], *x.shape)
            if part.shape != expected or part.dtype.kind not in "fiu":
                raise Unfit(
                    f"{self._gradient_title} gave {part.dtype} of shape {part.shape} for {name}; "
                    f"it must be floating point of shape {expected}"
                )
            blocks.append(part.astype(np.float64).reshape(-1, x.size) if x.size else np.zeros((part.size, 0)))
            dtypes.append({part.dtype})
        return Jacobian(blocks, dtypes=dtypes)

    def _parts(self, result: Any, wanted: list[str]) -> list[Any]:
        if isinstance(result, Mapping):
            missing = [name for name in wanted if name not in result]
            if missing:
                raise Unfit(
                    f"{self._gradient_title} gave a dict with {', '.join(map(repr, result)) or 'nothing'}; "
                    f"gradients for {', '.join(missing)} are missing"
                )
            return [result[name] for name in wanted]
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(parts) != len(wanted):
            raise Unfit(
                f"{self._gradient_title} gave {len(parts)} gradient(s); {len(wanted)} are checked, in this order: "
                f"{', '.join(wanted)}. Return a tuple, or a dict by name."
            )
        return parts

    @property
    def _gradient_title(self) -> str:
        return getattr(self.gradient, "__name__", type(self.gradient).__name__)
