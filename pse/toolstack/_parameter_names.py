"""The names that tools know the parameters of MPI's routines by, whatever ``mpi.h`` calls them.

MPI libraries spell some names differently, and a header may leave them out.  The code in a tool's list and
the shims for large counts use these names, which are the standard's, but for two: the communicator that a
routine works on is ``comm`` and one that it makes is ``newcomm`` everywhere.

Imports nothing that has to be installed: tools are also built before pse is (cext/toolstack/tools).
"""

from collections.abc import Iterator

# Routines without MPI_, then their parameters.  MPI_X_c has those of MPI_X if it isn't listed, and MPI_Ix and
# MPI_X_init have those of MPI_X but for the status, and then what is in _MORE.
_TABLE = """
Abort: comm errorcode
Accumulate: origin_addr origin_count origin_datatype target_rank target_disp target_count
    target_datatype op win
Allgather Alltoall Neighbor_allgather Neighbor_alltoall: sendbuf sendcount sendtype recvbuf
    recvcount recvtype comm
Allgatherv Neighbor_allgatherv: sendbuf sendcount sendtype recvbuf recvcounts displs recvtype comm
Allreduce Exscan Scan: sendbuf recvbuf count datatype op comm
Alltoallv Neighbor_alltoallv: sendbuf sendcounts sdispls sendtype recvbuf recvcounts rdispls
    recvtype comm
Alltoallw Neighbor_alltoallw: sendbuf sendcounts sdispls sendtypes recvbuf recvcounts rdispls
    recvtypes comm
Barrier Comm_disconnect Comm_free: comm
Bcast: buffer count datatype root comm
Bsend Rsend Send Ssend: buf count datatype dest tag comm
Buffer_attach: buffer size
Buffer_detach: buffer_addr size
Cancel Request_free Start: request
Cart_create: comm ndims dims periods reorder newcomm
Cart_sub: comm remain_dims newcomm
Comm_accept Comm_connect: port_name info root comm newcomm
Comm_attach_buffer: comm buffer size
Comm_create: comm group newcomm
Comm_create_from_group: group stringtag info errhandler newcomm
Comm_create_group: comm group tag newcomm
Comm_detach_buffer: comm buffer_addr size
Comm_dup: comm newcomm
Comm_dup_with_info: comm info newcomm
Comm_idup: comm newcomm request
Comm_idup_with_info: comm info newcomm request
Comm_join: fd intercomm
Comm_set_errhandler: comm errhandler
Comm_set_name: comm comm_name
Comm_spawn: command argv maxprocs info root comm newcomm array_of_errcodes
Comm_spawn_multiple: count array_of_commands array_of_argv array_of_maxprocs array_of_info root comm
    newcomm array_of_errcodes
Comm_split: comm color key newcomm
Comm_split_type: comm split_type key info newcomm
Dist_graph_create: comm n sources degrees destinations weights info reorder newcomm
Dist_graph_create_adjacent: comm indegree sources sourceweights outdegree destinations destweights
    info reorder newcomm
File_c2f File_f2c File_fromint File_toint: file
File_call_errhandler: fh errorcode
File_close File_sync: fh
File_create_errhandler: file_errhandler_fn errhandler
File_delete: filename info
File_get_amode: fh amode
File_get_atomicity File_set_atomicity: fh flag
File_get_byte_offset: fh offset disp
File_get_errhandler File_set_errhandler: file errhandler
File_get_group: fh group
File_get_info: fh info_used
File_get_position File_get_position_shared: fh offset
File_get_size: fh size
File_get_type_extent: fh datatype extent
File_get_view: fh disp etype filetype datarep
File_iread File_iread_all File_iread_shared File_iwrite File_iwrite_all File_iwrite_shared: fh buf count
    datatype request
File_iread_at File_iread_at_all File_iwrite_at File_iwrite_at_all: fh offset buf count datatype request
File_open: comm filename amode info fh
File_preallocate File_set_size: fh size
File_set_info: fh info
File_read File_read_all File_read_ordered File_read_shared File_write File_write_all File_write_ordered
    File_write_shared: fh buf count datatype status
File_read_all_begin File_read_ordered_begin File_write_all_begin File_write_ordered_begin: fh buf count
    datatype
File_read_all_end File_read_at_all_end File_read_ordered_end File_write_all_end File_write_at_all_end
    File_write_ordered_end: fh buf status
File_read_at File_read_at_all File_write_at File_write_at_all: fh offset buf count datatype status
File_read_at_all_begin File_write_at_all_begin: fh offset buf count datatype
File_seek File_seek_shared: fh offset whence
File_set_view: fh disp etype filetype datarep info
Gather Scatter: sendbuf sendcount sendtype recvbuf recvcount recvtype root comm
Gatherv: sendbuf sendcount sendtype recvbuf recvcounts displs recvtype root comm
Get Put: origin_addr origin_count origin_datatype target_rank target_disp target_count
    target_datatype win
Get_accumulate: origin_addr origin_count origin_datatype result_addr result_count result_datatype
    target_rank target_disp target_count target_datatype op win
Get_count Get_elements Status_set_elements: status datatype count
Graph_create: comm nnodes indx edges reorder newcomm
Improbe: source tag comm flag message status
Init: argc argv
Init_thread: argc argv required provided
Intercomm_create: comm local_leader peer_comm remote_leader tag newcomm
Intercomm_create_from_groups: local_group local_leader remote_group remote_leader stringtag info
    errhandler newcomm
Intercomm_merge: comm high newcomm
Iprobe: source tag comm flag status
Mprobe: source tag comm message status
Mrecv: buf count datatype message status
Pack: inbuf incount datatype outbuf outsize position comm
Pack_external: datarep inbuf incount datatype outbuf outsize position
Pack_external_size: datarep incount datatype size
Pack_size: incount datatype comm size
Parrived: request partition flag
Pready: partition request
Pready_list: length array_of_partitions request
Pready_range: partition_low partition_high request
Precv_init: buf partitions count datatype source tag comm info request
Probe: source tag comm status
Psend_init: buf partitions count datatype dest tag comm info request
Raccumulate: origin_addr origin_count origin_datatype target_rank target_disp target_count
    target_datatype op win request
Recv: buf count datatype source tag comm status
Reduce: sendbuf recvbuf count datatype op root comm
Reduce_local: inbuf inoutbuf count datatype op
Reduce_scatter: sendbuf recvbuf recvcounts datatype op comm
Reduce_scatter_block: sendbuf recvbuf recvcount datatype op comm
Request_get_status Test: request flag status
Request_get_status_all Testall: count array_of_requests flag array_of_statuses
Request_get_status_any Testany: count array_of_requests indx flag status
Request_get_status_some Testsome Waitsome: incount array_of_requests outcount array_of_indices
    array_of_statuses
Rget Rput: origin_addr origin_count origin_datatype target_rank target_disp target_count
    target_datatype win request
Rget_accumulate: origin_addr origin_count origin_datatype result_addr result_count result_datatype
    target_rank target_disp target_count target_datatype op win request
Scatterv: sendbuf sendcounts displs sendtype recvbuf recvcount recvtype root comm
Sendrecv: sendbuf sendcount sendtype dest sendtag recvbuf recvcount recvtype source recvtag comm
    status
Sendrecv_replace: buf count datatype dest sendtag source recvtag comm status
Session_attach_buffer: session buffer size
Session_detach_buffer: session buffer_addr size
Session_init: info errhandler session
Startall: count array_of_requests
Type_contiguous: count oldtype newtype
Type_create_darray: size rank ndims array_of_gsizes array_of_distribs array_of_dargs array_of_psizes
    order oldtype newtype
Type_create_hindexed Type_indexed: count array_of_blocklengths array_of_displacements oldtype
    newtype
Type_create_hindexed_block Type_create_indexed_block: count blocklength array_of_displacements
    oldtype newtype
Type_create_hvector Type_vector: count blocklength stride oldtype newtype
Type_create_resized: oldtype lb extent newtype
Type_create_struct: count array_of_blocklengths array_of_displacements array_of_types newtype
Type_create_subarray: ndims array_of_sizes array_of_subsizes array_of_starts order oldtype newtype
Type_dup: oldtype newtype
Type_free: datatype
Type_get_contents: datatype max_integers max_addresses max_datatypes array_of_integers
    array_of_addresses array_of_datatypes
Type_get_contents_c: datatype max_integers max_addresses max_large_counts max_datatypes
    array_of_integers array_of_addresses array_of_large_counts array_of_datatypes
Type_get_envelope: datatype num_integers num_addresses num_datatypes combiner
Type_get_envelope_c: datatype num_integers num_addresses num_large_counts num_datatypes combiner
Type_get_extent: datatype lb extent
Type_get_true_extent: datatype true_lb true_extent
Type_size: datatype size
Unpack: inbuf insize position outbuf outcount datatype comm
Unpack_external: datarep inbuf insize position outbuf outcount datatype
Wait: request status
Waitall: count array_of_requests array_of_statuses
Waitany: count array_of_requests indx status
Win_allocate Win_allocate_shared: size disp_unit info comm baseptr win
Win_complete Win_flush_all Win_flush_local_all Win_sync Win_wait: win
Win_create: base size disp_unit info comm win
Win_create_dynamic: info comm win
Win_fence: assert win
Win_flush Win_flush_local: rank win
Win_free Win_unlock_all: win
Win_lock: lock_type rank assertion win
Win_lock_all: assertion win
Win_post Win_start: group assert win
Win_shared_query: win rank size disp_unit baseptr
Win_test: win flag
Win_unlock: rank win
"""
_MORE = ("request",), ("info", "request")


def _rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in _TABLE.replace("\n    ", " ").strip().splitlines():
        routines, _, names = line.partition(":")
        for routine in routines.split():
            yield f"MPI_{routine}", tuple(names.split())


_NAMES = dict(_rows())


def parameter_names(routine: str, count: int) -> tuple[str, ...] | None:
    """Give the names of a routine's parameters; None if no tool needs them, or if there are more or fewer.

    Examples
    --------
    >>> parameter_names("MPI_Ibarrier", 2)
    ('comm', 'request')
    """
    forms = _forms(routine.removesuffix("_c"))
    known = [_NAMES[name] for name in (routine, routine.removesuffix("_c")) if name in _NAMES]
    return next((names for names in (*known, *forms) if len(names) == count), None)


def _forms(routine: str) -> Iterator[tuple[str, ...]]:
    """Yield what the names may be if a routine is the nonblocking or persistent form of a listed one."""
    prefix, _, rest = routine.partition("_")
    for name in (f"{prefix}_{rest[1:].capitalize()}", routine.removesuffix("_init")):
        if name != routine and name in _NAMES:
            plain = tuple(parameter for parameter in _NAMES[name] if parameter != "status")
            yield from (plain + more for more in _MORE)
