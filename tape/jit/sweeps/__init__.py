"""The jitted reverse sweep: rows lowered to steps, steps swept by kernels."""
