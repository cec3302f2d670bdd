"""Names from before PyTorch 0.4: ``FloatTensor``, ``LongTensor``, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.tensor import Tensor
from ..memory.to_dtype import OLD_NAMES
from ..recording.creation import construct
from ..recording.leaf import leaf


class _OldType(type):
    """The type of the old constructors: a tensor of the right dtype counts as an instance."""

    dtype: np.dtype[Any]

    def __call__(cls, *args: Any, device: Any = None, requires_grad: bool = False) -> Tensor:
        return leaf(construct(cls.dtype, args), requires_grad, device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'tape.{cls.__name__}'>"


CONSTRUCTORS: dict[str, type] = {
    name: _OldType(name, (), {"dtype": dtype, "__doc__": f"A {dtype} tensor: ``args`` are data, or sizes of zeros."})
    for dtype, name in OLD_NAMES.items()
}
