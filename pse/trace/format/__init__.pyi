from ._definitions import EdgeDefinition as EdgeDefinition
from ._errors import TraceError as TraceError
from ._events import (
    BYTE_ORDER as BYTE_ORDER,
    CORES as CORES,
    CPU_SHARE as CPU_SHARE,
    CPU_TIME as CPU_TIME,
    EVENT_DTYPE as EVENT_DTYPE,
    EVENTS_FILE as EVENTS_FILE,
    HEADER_DTYPE as HEADER_DTYPE,
    LINK_RATE as LINK_RATE,
    MAGIC as MAGIC,
    MPI_EVENTS as MPI_EVENTS,
    NONE as NONE,
    SCHEMA_VERSION as SCHEMA_VERSION,
    Await as Await,
    Collective as Collective,
    CommunicatorFlag as CommunicatorFlag,
    EventType as EventType,
    MessageFlag as MessageFlag,
    Phase as Phase,
    SendMode as SendMode,
    State as State,
    TextKind as TextKind,
    ValueKind as ValueKind,
    WaitReason as WaitReason,
)
from ._field_values import (
    Array as Array,
    bits_of as bits_of,
    distinct as distinct,
    high32 as high32,
    low32 as low32,
    value_of as value_of,
)
from ._header import (
    HEADER_SIZE as HEADER_SIZE,
    header_bytes as header_bytes,
    new_header as new_header,
)
