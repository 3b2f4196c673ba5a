from mpi4py cimport libmpi as mpi
from libc.stdint cimport int64_t

#@ coven module spread(in f64 x[n], in comm c, out f64 first) collective
cdef int spread(const double *x, mpi.MPI_Comm c, double *first, int64_t n) noexcept nogil:
    first[0] = x[0]
    return mpi.MPI_Bcast(first, 1, mpi.MPI_DOUBLE, 0, c)
