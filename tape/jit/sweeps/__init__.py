"""What Numba compiles: rows lowered to steps, the sweep over them, and the steps of plans."""
