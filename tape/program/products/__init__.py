"""Many products of vectors as one product of matrices."""
