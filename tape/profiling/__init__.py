"""What the profiler is made of: doors that it listens at, a recorder, events, tables and traces."""
