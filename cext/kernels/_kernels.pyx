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

cdef extern from "rows.h" nogil:
    int64_t pse_kernels_rows_leaving(
        const int64_t *owner, int64_t rows, int64_t partitions, int64_t here, int64_t *leaving, int64_t *sent,
    )
    void pse_kernels_rows_pack(
        char *packed, const char *x, size_t width, const int64_t *owner, const int64_t *leaving,
        int64_t count, int64_t *place,
    )
    void pse_kernels_rows_keep(
        char *kept, const char *x, size_t width, int64_t rows, const int64_t *leaving, int64_t count,
    )


cdef extern from "border.h" nogil:
    ctypedef struct pse_border:
        const double *x
        const double *boxes
        int64_t rows, axes, partitions, here
    int64_t pse_kernels_border_count(const pse_border *border, int64_t *candidates, int64_t *shown)
    void pse_kernels_border_list(
        const pse_border *border, const int64_t *candidates, int64_t count, int64_t *list,
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


def leaving_rows(const int64_t[::1] owner, int64_t here, int64_t[::1] leaving, int64_t[::1] sent):
    """List the rows whose owner is not `here` in `leaving`, and count them in `sent` by owner.

    Parameters
    ----------
    owner : buffer of int64, shape (rows,)
        Which partition each row goes to.
    here : int
        The partition whose rows stay.
    leaving : buffer of int64, shape (rows,)
        Gets the rows that leave, in their order.
    sent : buffer of int64, shape (partitions,)
        Zeros; gets how many go to each partition.

    Returns
    -------
    int
        How many leave; -1 - i if row i is the first whose owner is none of the partitions.

    Examples
    --------
    >>> leaving, sent = np.empty(4, np.int64), np.zeros(3, np.int64)
    >>> leaving_rows(np.array([1, 2, 1, 0]), 1, leaving, sent)
    2
    >>> leaving[:2].tolist(), sent.tolist()
    ([1, 3], [1, 0, 1])
    """
    if leaving.shape[0] < owner.shape[0]:
        raise ValueError(f"there is room for {leaving.shape[0]} rows that leave, not for {owner.shape[0]}")
    if not owner.shape[0] or not sent.shape[0]:
        return 0
    cdef const int64_t *owners = &owner[0]
    cdef int64_t *rows = &leaving[0]
    cdef int64_t *counts = &sent[0]
    cdef int64_t found
    with nogil:
        found = pse_kernels_rows_leaving(owners, owner.shape[0], sent.shape[0], here, rows, counts)
    return found


def pack_rows(unsigned char[::1] packed, const unsigned char[::1] x, const int64_t[::1] owner,
              const int64_t[::1] leaving, int64_t[::1] place):
    """Put the rows that leave one behind the other, by owner.

    Parameters
    ----------
    packed, x : buffer of bytes
        The rows that leave, and all rows.
    owner, leaving : buffer of int64
        As `leaving_rows` has them, without room that is left.
    place : buffer of int64, shape (partitions,)
        Where among the packed rows those of each partition begin; it is counted up.

    Examples
    --------
    >>> x, packed = np.arange(4, dtype=np.uint8), np.empty(2, np.uint8)
    >>> pack_rows(packed, x, np.array([1, 2, 1, 0]), np.array([1, 3]), np.array([0, 1, 1]))
    >>> packed.tolist()
    [3, 1]
    """
    if not packed.shape[0]:
        return
    pse_kernels_rows_pack(<char *>&packed[0], <const char *>&x[0], packed.shape[0] // leaving.shape[0],
                          &owner[0], &leaving[0], leaving.shape[0], &place[0])


def keep_rows(unsigned char[::1] kept, const unsigned char[::1] x, int64_t rows, const int64_t[::1] leaving):
    """Copy the rows that don't leave, in their order.

    Parameters
    ----------
    kept, x : buffer of bytes
        The rows that stay, and all rows; `kept` may lie in `x`.
    rows : int
        How many rows there are.
    leaving : buffer of int64
        The rows that leave, ascending.

    Examples
    --------
    >>> kept = np.empty(2, np.uint8)
    >>> keep_rows(kept, np.arange(4, dtype=np.uint8), 4, np.array([1, 3]))
    >>> kept.tolist()
    [0, 2]
    """
    if not kept.shape[0]:
        return
    cdef const int64_t *listed = &leaving[0] if leaving.shape[0] else NULL
    cdef char *to = <char *>&kept[0]
    cdef const char *source = <const char *>&x[0]
    with nogil:
        pse_kernels_rows_keep(to, source, x.shape[0] // rows, rows, listed, leaving.shape[0])


cdef pse_border border_of(const double[:, ::1] x, const double[:, ::1] boxes, int64_t here):
    cdef pse_border border
    border.rows, border.axes = x.shape[0], x.shape[1]
    border.partitions, border.here = boxes.shape[0], here
    border.x = &x[0, 0] if x.shape[0] else NULL
    border.boxes = &boxes[0, 0]
    return border


def border_rows(const double[:, ::1] x, const double[:, ::1] boxes, int64_t here,
                int64_t[::1] candidates, int64_t[::1] shown):
    """Count the images of positions that partitions see: those within a distance of their boxes.

    Parameters
    ----------
    x : buffer of float64, shape (rows, axes)
        Positions; at most eight axes.
    boxes : buffer of float64, shape (partitions, 3 * axes + 1)
        For each partition the least and the greatest coordinates, the periods, and the distance.
    here : int
        The partition whose positions these are.
    candidates : buffer of int64, shape (rows,)
        Gets the rows that can be near any box.
    shown : buffer of int64, shape (partitions,)
        Zeros; gets how many images each partition sees.

    Returns
    -------
    int
        How many candidates there are; -1 if a coordinate is not finite, -2 if more than 100 periods lie
        between a position and a box.

    Examples
    --------
    >>> x = np.array([[0.5], [3.9]])
    >>> boxes = np.array([[0.0, 4.0, 8.0, 1.0], [4.0, 8.0, 8.0, 1.0]])
    >>> candidates, shown = np.empty(2, np.int64), np.zeros(2, np.int64)
    >>> border_rows(x, boxes, 0, candidates, shown), shown.tolist()
    (2, [0, 2])
    """
    cdef pse_border border = border_of(x, boxes, here)
    cdef int64_t *rows = &candidates[0] if candidates.shape[0] else NULL
    cdef int64_t *counts = &shown[0]
    cdef int64_t found
    with nogil:
        found = pse_kernels_border_count(&border, rows, counts)
    return found


def list_border(const double[:, ::1] x, const double[:, ::1] boxes, int64_t here,
                const int64_t[::1] candidates, int64_t[:, ::1] found):
    """List the images that `border_rows` has counted.

    Parameters
    ----------
    x, boxes, here
        As for `border_rows`.
    candidates : buffer of int64
        As `border_rows` has found them, without room that is left.
    found : buffer of int64, shape (images, 2 + axes)
        Gets the row, the partition that sees it, and the periods by which it is moved along each axis; by
        partition, then by periods, then by row.

    Examples
    --------
    >>> x, boxes = np.array([[0.5], [3.9]]), np.array([[0.0, 4.0, 8.0, 1.0], [4.0, 8.0, 8.0, 1.0]])
    >>> found = np.empty((2, 3), np.int64)
    >>> list_border(x, boxes, 0, np.array([0, 1]), found)
    >>> found.tolist()
    [[1, 1, 0], [0, 1, 1]]
    """
    if not found.shape[0]:
        return
    cdef pse_border border = border_of(x, boxes, here)
    cdef const int64_t *rows = &candidates[0]
    cdef int64_t *entries = &found[0, 0]
    with nogil:
        pse_kernels_border_list(&border, rows, candidates.shape[0], entries)
