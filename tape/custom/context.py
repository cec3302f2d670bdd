"""``ctx``: what a user calls on it, in forward and in backward."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.spec import Spec
from ..base.tensor import Tensor
from ..history.keeping import Keeper
from ..recording.recorder import wrap


class FunctionCtx(Keeper):
    """What ``forward`` or ``setup_context`` writes, and ``backward`` reads; takes attributes of any name.

    Attributes:
        needs_input_grad: for each argument of ``apply``, whether its gradient is of use.
    """

    __slots__ = (
        "__weakref__", "_dirty", "_inputs", "_materialize", "_plain", "_positions", "_recording", "_same",
        "needs_input_grad",
    )  # fmt: skip

    needs_input_grad: tuple[bool, ...]
    _same: list[tuple[int, int]]

    def __init__(self, inputs: tuple[Any, ...], tensors: Sequence[Tensor], recording: bool):
        super().__init__()
        n = len(inputs)
        if len(tensors) == n:
            self._inputs: tuple[Spec | None, ...] = tuple([x._spec for x in tensors])
            self._positions: Sequence[int] = range(n)
            self.needs_input_grad = tuple([x._node is not None for x in tensors])
        else:
            self._inputs = tuple([x._spec if isinstance(x, Tensor) else None for x in inputs])
            self._positions = [i for i, spec in enumerate(self._inputs) if spec is not None]
            self.needs_input_grad = tuple([isinstance(x, Tensor) and x._node is not None for x in inputs])
        self._recording = recording
        self._dirty: tuple[Any, ...] = ()
        self._plain: tuple[Any, ...] = ()
        self._materialize = True

    def name(self) -> str:
        """The name of the node, as PyTorch spells it: that of the class, and ``Backward``."""
        return type(self).__name__

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs, outputs or other tensors for `saved_tensors`; a second call replaces the first.

        They are released by a backward without ``retain_graph``, and keep their place in the history.

        Raises:
            TypeError: if something is neither a tensor nor None.
        """
        self._saved = self._tensors("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors that ``jvp`` finds in `saved_tensors`; those that are saved for backward it does not find there.

        Raises:
            TypeError: if something is neither a tensor nor None.
        """
        self._forward = self._tensors("save_for_forward", tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs ``forward`` has changed in place; each must also be one of its outputs.

        It goes on as that output: the same tensor, with this function as its history.

        Raises:
            RuntimeError: for a leaf that requires grad.
        """
        for x in tensors:
            if isinstance(x, Tensor) and x._node is True and self._recording:
                raise RuntimeError(
                    f"mark_dirty() in {self._title}.forward names a leaf that requires grad, and a leaf has no history "
                    "that says how it came to be what it is now.\nLet forward change and return a copy: x = x.clone()."
                )
        self._dirty = self._tensors("mark_dirty", tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient; ``backward`` still gets an argument for each."""
        self._plain = self._tensors("mark_non_differentiable", tensors)

    def mark_shared_storage(self, *pairs: tuple[Tensor, Tensor]) -> None:
        """Nothing: memory that outputs share with inputs is noticed by itself."""
        warnings.warn("mark_shared_storage() does nothing any more; leave it out", FutureWarning, stacklevel=2)

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` gets zeros (the default) or None for an output that nothing depends on."""
        self._materialize = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` was given, each tensor in its place in the history; in ``jvp``, `saved_for_forward`.

        Raises:
            RuntimeError: after a backward has released them, or if one was changed in place since.
        """
        if self._present is not None:
            return self.saved_for_forward
        return self._unpack(self._saved, 0)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """What `saved_tensors` was called once."""
        warnings.warn("saved_variables is deprecated; write saved_tensors", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def saved_for_forward(self) -> tuple[Tensor | None, ...]:
        """What `save_for_forward` was given."""
        return self._unpack(self._forward or (), len(self._saved))

    def _zeros(self, spec: Spec | None) -> Tensor | None:
        """What stands for a gradient or tangent that is zero."""
        return None if spec is None or not self._materialize else wrap(np.zeros(spec.shape, spec.dtype)[()])

    def _tensors(self, what: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        for i, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"{what}() takes tensors and None; argument {i} in {self._title} is of type {type(x).__name__}.\n"
                    "Keep other things as attributes: ctx.name = value."
                )
        return tensors
