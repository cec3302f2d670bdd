"""The passes that make a list shorter, and many products of vectors one product of matrices."""
