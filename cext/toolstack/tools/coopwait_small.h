/* Small allreduces by messages, where a communicator has many of them: MPI's nonblocking form has a schedule
 * to make, and so takes three times as long as the blocking one with a core for each rank.  Included by
 * coopwait.c.
 *
 * The ranks, a power of two, combine what they have by recursive doubling, on a communicator of the tool's
 * own (the twin).  Whether it is done so follows from what all ranks must give alike: the operation, the
 * types, the number, and how many such calls there were on the communicator.  The lower rank's data is always
 * the left operand, so all ranks get the same bits. */

enum {
    SMALL = 8,  /* elements at most */
    OFTEN = 16, /* calls before a twin is made: that takes as long as many of them */
};

struct twin {
    MPI_Comm comm;
    int calls, rank, size; /* size: 0 if the communicator isn't one for this */
};

static int twin_key = MPI_KEYVAL_INVALID;

static int free_twin(MPI_Comm comm, int key, void *attribute, void *extra)
{
    (void)comm, (void)key, (void)extra;
    struct twin *twin = attribute;
    if (twin->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&twin->comm);
    free(twin);
    return MPI_SUCCESS;
}

/* Bytes of an element; 0 for types and operations that are left to MPI. */
static size_t size_for(MPI_Datatype type, MPI_Op op)
{
    if (op != MPI_SUM && op != MPI_MAX && op != MPI_MIN && op != MPI_PROD && op != MPI_LAND && op != MPI_LOR)
        return 0;
    if (type == MPI_DOUBLE || type == MPI_INT64_T || type == MPI_LONG_LONG || type == MPI_UINT64_T)
        return 8;
    if (type == MPI_LONG || type == MPI_UNSIGNED_LONG)
        return sizeof(long);
    return type == MPI_INT || type == MPI_FLOAT || type == MPI_INT32_T || type == MPI_UINT32_T ? 4 : 0;
}

/* A communicator's twin, or what will be one; NULL if that can't be. */
static struct twin *find_twin(MPI_Comm comm)
{
    struct twin *twin;
    int found = 0, inter = 1;
    if (twin_key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_twin, &twin_key, NULL);
    if (PMPI_Comm_get_attr(comm, twin_key, &twin, &found) != MPI_SUCCESS || found)
        return found ? twin : NULL;
    twin = calloc(1, sizeof *twin);
    twin->comm = MPI_COMM_NULL;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_rank(comm, &twin->rank), PMPI_Comm_size(comm, &twin->size);
    if (inter || twin->size < 2 || (twin->size & (twin->size - 1)))
        twin->size = 0;
    PMPI_Comm_set_attr(comm, twin_key, twin);
    return twin;
}

/* The twin for one call, made when it is the time; NULL if the call is MPI's. */
static struct twin *twin_for(MPI_Comm comm, MPI_Count count, size_t element)
{
    struct twin *twin =
        element && count > 0 && count <= SMALL && comm != MPI_COMM_NULL ? find_twin(comm) : NULL;
    if (!twin || !twin->size)
        return NULL;
    if (twin->comm == MPI_COMM_NULL && ++twin->calls == OFTEN) {
        if (gather_at(comm) != MPI_SUCCESS ||
            PMPI_Comm_split(comm, 0, twin->rank, &twin->comm) != MPI_SUCCESS)
            twin->comm = MPI_COMM_NULL;
    }
    return twin->comm == MPI_COMM_NULL ? NULL : twin;
}

static int combine(void *data, int count, MPI_Datatype type, size_t bytes, MPI_Op op, const struct twin *twin)
{
    char theirs[SMALL * 8];
    int error = MPI_SUCCESS;
    for (int step = 1; step < twin->size && error == MPI_SUCCESS; step *= 2) {
        int other = twin->rank ^ step;
        error = MPI_Sendrecv(data, count, type, other, 0, theirs, count, type, other, 0, twin->comm,
                             MPI_STATUS_IGNORE);
        if (error == MPI_SUCCESS && other < twin->rank) {
            error = PMPI_Reduce_local(theirs, data, count, type, op);
        } else if (error == MPI_SUCCESS) {
            error = PMPI_Reduce_local(data, theirs, count, type, op);
            memcpy(data, theirs, bytes);
        }
    }
    return error;
}
