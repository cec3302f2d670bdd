"""What everything else stands on: the tensor's class, specs, dtypes, errors, locks, rooms."""
