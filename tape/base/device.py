"""Where and how numbers lie: in the memory of the CPU, in strides, under PyTorch's names for that."""

from __future__ import annotations

from typing import Any, NoReturn

from .tensor import Tensor, Theme

__all__ = ["check_device", "check_layout", "contiguous_format", "device", "is_device", "preserve_format", "strided"]

strided = "strided"
"""What `Tensor.layout` says."""

contiguous_format, preserve_format = "contiguous_format", "preserve_format"
"""What ``memory_format=`` may say: row-major order, or as the input has it."""


class device:
    """A name for where a tensor's numbers are; only ``"cpu"`` exists.

    Raises:
        TypeError: if the argument is neither text nor a device.
        RuntimeError: if it names another device.

    >>> device("cpu"), device("cpu:0") == device("cpu", 0)
    (device(type='cpu'), True)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: Any, index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, str):
            kind = type.__class__.__name__
            raise TypeError(f"a device is given by its name, which must be 'cpu'; got {kind}")
        kind, _, number = type.partition(":")
        if kind != "cpu" or (number or "0") != "0" or index not in (None, 0):
            raise device_error(type)
        self.type = kind
        self.index = 0 if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)


def device_error(name: str) -> RuntimeError:
    """What to raise where another device is named."""
    return RuntimeError(
        f"there is no device {name!r} here: tensors are NumPy arrays, in the memory of the CPU.\n"
        "Leave the device out, or give 'cpu'."
    )


CPU = device("cpu")
Device = device  # under a name that no attribute takes


def check_device(where: Any) -> None:
    """A user's ``device=`` argument: nothing, or a name for the CPU.

    Raises:
        RuntimeError: if it is another device.
    """
    if where is not None:
        device(where)


def check_layout(memory_format: Any) -> None:
    """A user's ``memory_format=`` argument.

    Raises:
        RuntimeError: if it is an order for images, which NumPy's arrays do not have.
    """
    if memory_format not in (None, contiguous_format, preserve_format):
        raise RuntimeError(f"memory_format must be contiguous_format or preserve_format; got {memory_format!r}")


def is_device(argument: Any) -> bool:
    """Whether an argument of `to` speaks of a device rather than of a dtype."""
    return isinstance(argument, device) or (
        isinstance(argument, str) and argument.partition(":")[0] in ("cpu", "cuda", "mps", "xpu", "meta")
    )


class DeviceMethods(Theme):
    """Where the numbers are: always in the memory of the CPU."""

    __slots__ = ()

    @property
    def device(self) -> Device:
        """Where the numbers are: always the CPU."""
        return CPU

    @property
    def is_cuda(self) -> bool:
        """Whether the numbers are on a GPU: never."""
        return False

    @property
    def is_cpu(self) -> bool:
        """Whether the numbers are in the memory of the CPU: always."""
        return True

    @property
    def is_sparse(self) -> bool:
        """Whether only some elements are stored: never."""
        return False

    @property
    def layout(self) -> str:
        """How the numbers lie: in strides, all of them."""
        return strided

    def to_dense(self) -> Tensor:
        """The tensor itself: all are dense."""
        return self

    def get_device(self) -> int:
        """The number of the GPU that holds the tensor; −1, as PyTorch says for the CPU."""
        return -1

    def cpu(self) -> Tensor:
        """The tensor itself: there is no other device."""
        return self

    def cuda(self, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> NoReturn:
        """Moving to a GPU is not possible here.

        Raises:
            RuntimeError: always.
        """
        raise device_error("cuda")
