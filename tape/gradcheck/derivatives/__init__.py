"""Both derivatives of a function under check: by its gradient, and by differences."""
