"""Define-by-run automatic differentiation of NumPy code, with PyTorch's autograd surface.

>>> import tape as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> y = (x * x).sum()
>>> y.backward()
>>> x.grad
tensor([2., 4.])
"""

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from ops import REGISTRY

from . import autograd as autograd
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .base import dtypes
from .base.describing import describe
from .base.device import contiguous_format, device, preserve_format, strided
from .base.dtypes import get_default_dtype, set_default_dtype
from .base.limits import finfo, iinfo
from .base.printing import printoptions, set_printoptions
from .base.rooms import on_demand
from .base.tensor import Size, Tensor
from .history import collecting, stepping
from .memory import choosing, inplace, parting, shaping, to_dtype
from .methods import Methods as _Methods
from .random import manual_seed, normal, rand, rand_like, randint, randn, randn_like, randperm
from .recording import halves
from .recording.calls import facing
from .recording.creation import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)  # fmt: skip
from .recording.functions import FUNCTIONS, SHORT
from .recording.recording_modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .release import __version__
from .spelling import compound, spelled_inplace
from .spelling.legacy import CONSTRUCTORS

if TYPE_CHECKING:
    from .program import Program, compile, load, record, save


_NAMES = ("dask", "fft", "func", "gradcheck", "linalg", "numpy", "special", "testing", "utils")
_ROOMS = {room: f"tape.{room}" for room in _NAMES}
_PROGRAMS = dict.fromkeys(("Program", "compile", "load", "record", "save"), "tape.program")
_OTHERS = {"checkpoint": "tape.utils.checkpoint", "stop_gradient": "tape.numpy.arrays.face", "vmap": "tape.func"}
_open = on_demand("tape", _ROOMS | _PROGRAMS | _OTHERS)


def __getattr__(name: str) -> Any:
    """Rooms that are opened when they are asked for; to a type checker, the functions from the registry too."""
    return dtypes.bfloat16() if name == "bfloat16" else _open(name)


def __dir__() -> list[str]:
    """What is public: rooms and programs too, which are opened when they are asked for."""
    named = (name for name in __all__ if not name.startswith("numpy_"))
    return sorted({*_ROOMS, *_PROGRAMS, *_OTHERS, "bfloat16", *named})


newaxis = None
_PLAIN = SHORT | {to_dtype.is_tensor}
"""Functions to which arrays that are recorded are not handed as tensors."""
for _name, _value in FUNCTIONS.items():
    if _name in REGISTRY:
        describe(_value, REGISTRY[_name], _name)
for _names in (FUNCTIONS, CONSTRUCTORS, {name: getattr(dtypes, name) for name in dtypes.NAMES}):
    for _name, _value in _names.items():
        globals().setdefault(_name, facing(_value) if _names is FUNCTIONS and _value not in _PLAIN else _value)
__all__ = [
    "Size", "Tensor", "arange", "as_tensor", "asarray", "autograd", "contiguous_format", "device", "e", "empty",
    "empty_like", "enable_grad", "eye", "finfo", "from_numpy", "full", "full_like", "get_default_dtype", "iinfo",
    "inf", "inference_mode", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_grad_enabled",
    "is_inference_mode_enabled", "linspace", "logspace", "manual_seed", "nan", "newaxis", "no_grad", "normal", "ones",
    "ones_like", "pi", "preserve_format", "printoptions", "rand", "rand_like", "randint", "randn", "randn_like",
    "randperm", "set_default_dtype", "set_grad_enabled", "set_printoptions", "strided", "tensor", "zeros",
    "zeros_like", *FUNCTIONS, *CONSTRUCTORS, *dtypes.NAMES,
]  # fmt: skip
