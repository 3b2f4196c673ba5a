"""Modules in Python: arrays are NumPy arrays on the memory that all ranks share."""

import numpy as np


#@ coven module measure(in i64 k, in i64 n, out f64 signal[n] @ root)
def measure(k, n, signal):
    """Make signal k: a sine with noise."""
    noise = np.random.default_rng(k)
    signal[:] = np.sin(np.linspace(0, 20, n)) + noise.normal(scale=0.5, size=n)


#@ coven module summary(in i64 k, in f64 smoothed[n] @ root, in f64 energy)
def summary(k, smoothed, energy):
    """Say what became of signal k."""
    print(f"signal {k}: energy {energy / smoothed.size:.4f} a sample, largest value {smoothed.max():.4f}")
