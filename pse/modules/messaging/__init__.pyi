from ._collectives import (
    allgather as allgather,
    allreduce as allreduce,
    alltoall as alltoall,
    alltoallv as alltoallv,
    barrier as barrier,
    bcast as bcast,
    exchange_pieces as exchange_pieces,
    exchange_rows as exchange_rows,
    gather as gather,
    reduce as reduce,
    scan as scan,
    scatter as scatter,
)
from ._messages import receive as receive, send as send
from ._requests import (
    Request as Request,
    enter_call as enter_call,
    leave_call as leave_call,
    partition_block as partition_block,
    partition_coordinates as partition_coordinates,
    partition_count as partition_count,
    partition_grid as partition_grid,
    partition_index as partition_index,
    wait_for as wait_for,
)
