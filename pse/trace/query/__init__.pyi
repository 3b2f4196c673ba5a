from ._message_consumers import NOBODY as NOBODY, readers as readers
from ._mpi_messages import collectives as collectives, mpi_messages as mpi_messages
from ._names import Names as Names
from ._partition_messages import between_ranks as between_ranks
from ._reader import Trace as Trace
from ._selection import Selection as Selection
from ._tables import (
    MESSAGE_DTYPE as MESSAGE_DTYPE,
    RANKED_EVENT_DTYPE as RANKED_EVENT_DTYPE,
    decode_texts as decode_texts,
    high as high,
    low as low,
    match_messages as match_messages,
    message_ends as message_ends,
)
from ._tphs import PROGRAM as PROGRAM, Tph as Tph, Tphs as Tphs, lives as lives
