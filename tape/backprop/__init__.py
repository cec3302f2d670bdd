"""``backward`` and ``grad``: which lists are swept, and where the adjoints go."""
