"""Products, systems, factors and spectra of matrices; Fourier transforms."""
