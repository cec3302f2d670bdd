"""Linear algebra under NumPy's and PyTorch's name for it: ``tape.linalg.svd``, with the defaults that they share."""

import numpy as np

from .choosing import numpy_names
from .functions import FUNCTIONS

FROM_NUMPY = {name: FUNCTIONS[op.name] for name, op in numpy_names(np.linalg)}
"""The functions of `numpy.linalg` that ops answer for."""

LinAlgError = np.linalg.LinAlgError
globals().update(FROM_NUMPY)
__all__ = ["LinAlgError", *FROM_NUMPY]  # noqa: PLE0604
