"""The array face: NumPy's attributes and methods on recorded values, and what becomes of one that leaves."""
