"""From records to LLVM code: which run together, as what functions, in lanes."""
