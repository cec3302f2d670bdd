"""The jitted half: Python's objects read by address, rows lowered to steps, steps swept by kernels.

Nothing here is imported before it pays (`tape.base.jit_door`), because importing Numba takes longer than
everything else together.
"""
