from ._key_matching import match_keys as match_keys, pack_keys as pack_keys
from ._message_consumers import NO_CALL as NO_CALL, message_consumers as message_consumers
from ._messages import (
    MESSAGE_DTYPE as MESSAGE_DTYPE,
    RANKED_EVENT_DTYPE as RANKED_EVENT_DTYPE,
    all_messages as all_messages,
    match_messages as match_messages,
    transfer_way as transfer_way,
)
from ._mpi import (
    Communicator as Communicator,
    MpiTraffic as MpiTraffic,
    mpi_communicators as mpi_communicators,
    mpi_traffic as mpi_traffic,
    outermost_calls as outermost_calls,
    routine_threads as routine_threads,
    thread_begins as thread_begins,
)
from ._mpi_messages import (
    Communicators as Communicators,
    lost_ranks as lost_ranks,
    mpi_collectives as mpi_collectives,
    mpi_messages as mpi_messages,
    unsent_messages as unsent_messages,
)
from ._names import Names as Names
from ._partition_messages import messages_between_ranks as messages_between_ranks
from ._program_span import (
    ENDS as ENDS,
    outside_of_program as outside_of_program,
    program_span as program_span,
)
from ._selection import Selection as Selection
from ._time_window import TimeWindow as TimeWindow
from ._tphs import PROGRAM_TPH as PROGRAM_TPH, Tph as Tph, Tphs as Tphs, tph_lifetimes as tph_lifetimes
from ._trace import Trace as Trace
