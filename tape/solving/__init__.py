"""SciPy's functions that call the user's, on recorded values: differential equations, roots, minima, integrals."""
