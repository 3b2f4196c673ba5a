"""The kernels (one C file each) for Python: for tests, benchmarks and Python code that moves arrays.

Works on anything that has a buffer; numpy isn't needed.
"""

from cpython.buffer cimport PyBUF_FULL, PyBUF_FULL_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t

from pse._abi.elements cimport PSE_MAX_DIMS


cdef extern from "strided_copy.h" nogil:
    void pse_kernels_strided_copy(
        char *dst, const int64_t *dst_strides, const char *src, const int64_t *src_strides,
        const int64_t *shape, int ndim, size_t itemsize,
    )


cdef int refuse_mismatch(Py_buffer *dst, Py_buffer *src) except -1:
    to, source = [dst.shape[i] for i in range(dst.ndim)], [src.shape[i] for i in range(src.ndim)]
    if to != source or dst.itemsize != src.itemsize:
        raise ValueError(
            f"arrays of one shape and element size are expected, "
            f"not {to} of {dst.itemsize} bytes and {source} of {src.itemsize}"
        )
    if dst.ndim > PSE_MAX_DIMS:
        raise ValueError(f"arrays of at most {PSE_MAX_DIMS} axes are expected, not {dst.ndim}")
    return 0


def strided_copy(dst, src):
    """Copy `src` to `dst` element by element, whatever their strides are; the arrays must not overlap.

    Parameters
    ----------
    dst, src
        Objects with buffers of the same shape (at most eight axes) and element size; `dst` is writable.

    Raises
    ------
    ValueError
        If shape or element size differ, or there are too many axes.

    Examples
    --------
    >>> source = np.arange(6).reshape(2, 3)
    >>> target = np.empty((3, 2), int)
    >>> strided_copy(target, source.T)
    >>> target.tolist()
    [[0, 3], [1, 4], [2, 5]]
    """
    cdef Py_buffer to, source
    PyObject_GetBuffer(dst, &to, PyBUF_FULL)
    try:
        PyObject_GetBuffer(src, &source, PyBUF_FULL_RO)
        try:
            refuse_mismatch(&to, &source)
            with nogil:
                pse_kernels_strided_copy(
                    <char *>to.buf, <const int64_t *>to.strides, <const char *>source.buf,
                    <const int64_t *>source.strides, <const int64_t *>to.shape, to.ndim, to.itemsize,
                )
        finally:
            PyBuffer_Release(&source)
    finally:
        PyBuffer_Release(&to)
