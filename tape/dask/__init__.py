"""Past one machine: recorded programs on a Dask cluster.

A function of a block of data is recorded where it is called; its program travels to the workers as the bytes of a
file, once per worker, and is compiled there.  Needs ``pip install 'wengert[dask]'``.

Without a `distributed.Client` the same code runs on Dask's threads in this process.

>>> import dask.array as da, numpy as np, tape.dask
>>> X, y = da.ones((6, 2), chunks=(4, 2)), da.zeros(6, chunks=4)
>>> loss = lambda w, X, y: ((X @ w - y) ** 2).sum()
>>> value, gradient = tape.dask.value_and_grad(loss, data=(X, y))(np.array([1.0, 2.0]))
>>> float(value), gradient
(54.0, array([36., 36.]))
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..base.rooms import on_demand

if find_spec("dask") is None:
    raise ImportError("tape.dask needs Dask, which is not installed here: pip install 'wengert[dask]'")

if TYPE_CHECKING:
    from .evaluation import gauss_newton, hvp, value_and_grad
    from .parcel_programs import PathReport
    from .scenario_map import map
else:  # a worker needs none of these names, and so does not wait for what they import
    __getattr__ = on_demand(
        "tape.dask",
        {
            "PathReport": "tape.dask.parcel_programs",
            "gauss_newton": "tape.dask.evaluation",
            "hvp": "tape.dask.evaluation",
            "map": "tape.dask.scenario_map",
            "value_and_grad": "tape.dask.evaluation",
        },
    )

__all__ = ["PathReport", "gauss_newton", "hvp", "map", "value_and_grad"]
