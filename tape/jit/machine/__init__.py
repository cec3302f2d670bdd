"""Memory at addresses, the processor, and what is compiled and kept on disk."""
