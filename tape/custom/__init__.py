"""Functions with a gradient of the user's own: what `autograd.Function` does."""
