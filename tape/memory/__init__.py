"""The memory of tensors: changes in place, views of what was changed, and their history."""
