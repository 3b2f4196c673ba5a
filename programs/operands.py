"""Two matrices to multiply."""

import numpy as np


#@ coven module operands(in i64 m, in i64 n, in i64 k, in bool whole, out f64 a[m, k], out f64 b[k, n])
def operands(m, n, k, whole):
    """Draw matrices of small whole numbers, whose product is exact, or of real numbers."""
    draw = np.random.default_rng(3)
    if whole:
        return draw.integers(-9, 10, (m, k)).astype(float), draw.integers(-9, 10, (k, n)).astype(float)
    return draw.standard_normal((m, k)), draw.standard_normal((k, n))
