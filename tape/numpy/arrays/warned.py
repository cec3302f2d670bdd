"""Warnings that NumPy gives beside those of floating-point errors, for what is recorded in its place."""

from __future__ import annotations

import warnings

from ...base.tensor import Tensor
from ...recording.level import components
from .leaving import user_frame


def warn(text: str, category: type[Warning], tensor: Tensor) -> None:
    """Warn on the user's line, of something that was found in a tensor.

    NumPy would at every call, and a replay does not: a function that is being recorded runs as it is.
    """
    for part in components(tensor):
        part._refuse_recording(f"NumPy warns there: {text}")
    warnings.warn(text, category, stacklevel=user_frame()[1])
