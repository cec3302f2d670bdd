"""What tests of many rooms use: tables of parameters, and measures."""
