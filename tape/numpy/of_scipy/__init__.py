"""SciPy's functions and sparse matrices on recorded arrays."""
