"""Programs of scientific computing in plain NumPy, written as people write them: buffers, loops, writes in place.

None of them knows `tape`.  Each is a `Kernel`: a function of float arrays that returns arrays or changes its arguments.
"""

from . import data, fields, linear, networks, physics, solvers, stencils
from .kernel import INTEGER_KERNELS, KERNELS, Kernel

__all__ = ["INTEGER_KERNELS", "KERNELS", "Kernel"]
