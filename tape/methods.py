"""What a tensor can do: the themes of its methods, each with the file that it is written in.

`Tensor` itself (`tape.base.tensor`) stands below the rooms that record, change and differentiate tensors, so it cannot
name them.  Here they are known, and are put under the class.  Most methods are public functions too, and follow from
the ops: the stub of this module has the signatures of all, by theme.
"""

from __future__ import annotations

from . import random  # noqa: F401  (some of its functions are methods)
from .backprop.backward import BackwardMethods
from .base.device import DeviceMethods
from .base.printing import PrintingMethods
from .base.tensor import Tensor, Theme
from .history.hooks import HookMethods
from .history.node import NodeMethods
from .memory.assignment import AssignmentMethods
from .memory.eager import EagerKind
from .memory.grad_and_data import DataMethods
from .memory.inplace import FillingMethods
from .memory.shaping import ShapeMethods
from .memory.storage import StorageMethods
from .memory.to_dtype import DtypeMethods
from .recording.creation import CreationMethods
from .recording.functions import METHODS, OperatorMethods
from .recording.indexing import IndexMethods
from .recording.leaf import LeafMethods
from .recording.numpy_bridge import NumpyMethods
from .spelling import compound, factors, of_matrices, placing, redraw, small_functions  # noqa: F401  (their functions are methods)
from .spelling.complex_parts import ComplexMethods
from .spelling.protocol import PythonMethods

__all__ = ["FunctionMethods", "Methods"]

FunctionMethods = type(
    "FunctionMethods",
    (Theme,),
    {
        "__doc__": "Public functions whose first argument is a tensor, as methods; and in place, under a name with _.",
        "__module__": __name__,
        "__slots__": (),
        **METHODS,
    },
)


class Methods(
    OperatorMethods,  # x + y, x @ y, -x
    IndexMethods,  # x[index]
    AssignmentMethods,  # x[index] = value
    ShapeMethods,  # x.shape in other forms: view, T, size
    DtypeMethods,  # to, float, long, contiguous, stride
    ComplexMethods,  # real, imag, mH
    CreationMethods,  # Tensor(…), new_zeros
    LeafMethods,  # requires_grad
    BackwardMethods,  # backward
    NodeMethods,  # grad_fn
    HookMethods,  # register_hook, retain_grad
    DataMethods,  # grad, data, detach
    FillingMethods,  # copy_, fill_, zero_
    StorageMethods,  # storage, set_, resize_
    DeviceMethods,  # device, cpu
    NumpyMethods,  # numpy, and what NumPy's functions ask
    PythonMethods,  # item, float(x), len(x), pickle
    PrintingMethods,  # repr, HTML
    FunctionMethods,  # type: ignore[valid-type,misc]  # exp, sum, matmul, add_, …
    EagerKind,  # what the library asks of every kind of tensor
):
    """All that a tensor can do."""

    __slots__ = ()


Tensor.__bases__ = (Methods,)
