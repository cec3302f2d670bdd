"""How functions are jitted: `entry` for what Python calls, `inner` for what only jitted code calls.

Entries are kept on disk with everything they call.  Inner functions get no wrappers of their own,
which halves the time that the first gradient on a machine takes.
"""

from __future__ import annotations

from numba import njit

entry = njit(cache=True, error_model="numpy")
inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
