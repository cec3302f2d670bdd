"""Complex tensors: their parts, conjugates and transposes, as PyTorch spells them."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

import ops

from ..base.dtypes import complex64, complex128
from ..base.tensor import Tensor, Theme
from ..recording.calls import adaptor
from ..recording.recorder import as_tensor, wrap


def is_complex_tensor(x: Any) -> builtins.bool:
    return isinstance(x, Tensor) and x._spec.complex


def _real(input: Tensor) -> Tensor:
    """The real parts; real tensors as they are.  They share memory with the tensor."""
    return ops.real(input) if is_complex_tensor(input) else as_tensor(input)


def _imag(input: Tensor) -> Tensor:
    """The imaginary parts, which share memory with the tensor.

    Raises:
        RuntimeError: if the tensor is real.
    """
    if not is_complex_tensor(input):
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes: a real tensor has no imaginary part in its "
            f"memory; got {input.dtype}. Use tape.zeros_like(x)."
        )
    return ops.imag(input)


_real.__name__, _imag.__name__ = "real", "imag"
adaptor(_real)
adaptor(_imag)


class ComplexMethods(Theme):
    """The parts of complex numbers."""

    __slots__ = ()

    @property
    def real(self) -> Tensor:
        """The real parts, in the same memory; may be assigned.

        >>> import tape
        >>> tape.tensor([1 + 2j, 3.0]).real
        tensor([1., 3.])
        """
        return _real(self)

    @real.setter
    def real(self, value: Any) -> None:
        _write(_real(self), value)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, in the same memory; may be assigned."""
        return _imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        _write(_imag(self), value)

    def conj_physical_(self) -> Tensor:
        """Conjugate the numbers in place."""
        return self.copy_(ops.conj(self)) if is_complex_tensor(self) else self

    @property
    def mH(self) -> Tensor:
        """The conjugate transposes of matrices, along the last two axes."""
        return adjoint(self)

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
        if self.ndim not in (0, 2):
            raise RuntimeError(f".H is that of a matrix; got shape {self._spec.shape}. Use .mH for stacks of matrices.")
        return adjoint(self) if self.ndim else conj(self)

    def cfloat(self) -> Tensor:
        """The same numbers as complex64."""
        return self.to(complex64)

    def cdouble(self) -> Tensor:
        """The same numbers as complex128."""
        return self.to(complex128)


def _write(part: Tensor, value: Any) -> None:
    part.copy_(as_tensor(np.asarray(value)) if np.isscalar(value) else value)


@adaptor
def conj(input: Tensor) -> Tensor:
    """Complex conjugates; real tensors as they are.

    >>> import tape
    >>> tape.tensor([1 + 2j]).conj()
    tensor([1.-2.j])
    """
    return ops.conj(input) if is_complex_tensor(input) else input


@adaptor
def conj_physical(input: Tensor) -> Tensor:
    """Complex conjugates, as `conj`: here every conjugate has memory of its own."""
    return conj(input)


def _as_it_is(name: str, doc: str) -> None:
    def function(input: Tensor) -> Tensor:
        return input

    function.__name__, function.__doc__ = name, doc
    adaptor(function)


_as_it_is("resolve_conj", "The tensor itself: a conjugate is never postponed here.")
_as_it_is("resolve_neg", "The tensor itself: a change of sign is never postponed here.")


def _never(name: str, doc: str) -> None:
    def function(input: Tensor) -> builtins.bool:
        return False

    function.__name__, function.__doc__ = name, doc
    adaptor(function)


_never("is_conj", "Whether the conjugation of the tensor is postponed: never here.")
_never("is_neg", "Whether the change of the tensor's sign is postponed: never here.")


@adaptor
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0, elementwise; true of all real numbers."""
    return wrap(np.isreal(input._data))


@adaptor
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transposes of matrices, along the last two axes."""
    if input.ndim < 2:
        raise RuntimeError(f"adjoint() needs at least 2 dimensions; got shape {input._spec.shape}")
    return conj(ops.mT(input))
