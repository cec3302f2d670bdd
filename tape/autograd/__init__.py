"""Differentiation: ``backward``, ``grad``, the grad modes, and the graph behind them."""

from typing import TYPE_CHECKING

from ..backprop.grad import backward_all as backward, grad
from ..base.rooms import on_demand
from ..custom.function import Function
from ..history.saved import SavedTensor
from ..recording.recording_modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from . import anomaly_mode, function, grad_mode, graph, variable
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .detect_changes import detect_changes
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

if TYPE_CHECKING:
    from . import forward_ad as forward_ad, functional as functional, profiler as profiler
else:
    _ROOMS = {room: f"tape.autograd.{room}" for room in ("forward_ad", "functional", "profiler")}
    __getattr__ = on_demand("tape.autograd", _ROOMS | {"_profiler_enabled": "tape.autograd.profiler"})

__all__ = [
    "Function", "SavedTensor", "Variable", "anomaly_mode", "backward", "detect_anomaly", "detect_changes",
    "enable_grad", "function", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
    "is_grad_enabled", "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled", "variable",
]  # fmt: skip
