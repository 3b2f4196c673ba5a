# cython: boundscheck=False, cdivision=True
"""The Mandelbrot set in Cython.

A `cdef` function that is `noexcept nogil` gets raw pointers and runs without the GIL, like one in C.
"""
from libc.stdint cimport int32_t, int64_t


#@ coven module mandelbrot(in f64 left, in f64 top, in f64 size, in i64 n, in i64 limit, out i32 steps[n, n])
cdef int mandelbrot(double left, double top, double size, int64_t n, int64_t limit,
                    int32_t *steps) noexcept nogil:
    cdef int64_t i, j, step
    cdef double cx, cy, x, y, square
    if n < 1 or limit < 1:
        return 1
    for i in range(n):
        for j in range(n):
            cx = left + size * j / n
            cy = top - size * i / n
            x = 0
            y = 0
            step = 0
            while step < limit and x * x + y * y <= 4:
                square = x * x - y * y + cx
                y = 2 * x * y + cy
                x = square
                step += 1
            steps[i * n + j] = <int32_t>step
    return 0


cdef const char *coven_error(int code) noexcept nogil:
    return "n and limit must be at least 1"
