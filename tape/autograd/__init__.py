"""Differentiation: ``backward``, ``grad``, the grad modes, and the graph behind them."""

from ..backward import backward_all as backward, grad
from . import grad_mode, graph, variable
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Variable", "backward", "enable_grad", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph",
    "is_grad_enabled", "no_grad", "set_grad_enabled", "variable",
]  # fmt: skip
