from ._recorder import Recorder as Recorder, clock as clock, pair as pair
from .format._definitions import (
    Definitions as Definitions,
    EdgeDefinition as EdgeDefinition,
    LoopDefinition as LoopDefinition,
    RankDefinition as RankDefinition,
    SiteDefinition as SiteDefinition,
    digest as digest,
)
from .format._errors import TraceError as TraceError
from .format._events import (
    EVENT_DTYPE as EVENT_DTYPE,
    NONE as NONE,
    Await as Await,
    Collective as Collective,
    EventType as EventType,
    MemoryFlag as MemoryFlag,
    MessageFlag as MessageFlag,
    ModuleFlag as ModuleFlag,
    Phase as Phase,
    SendMode as SendMode,
    TextKind as TextKind,
    ValueKind as ValueKind,
    WaitReason as WaitReason,
)
from .query._selection import Selection as Selection
from .query._trace import Trace as Trace, open as open
from .store._directory import (
    create as create,
    read_definitions as read_definitions,
    write_definitions as write_definitions,
    write_program as write_program,
)
from .summary._rows import Summary as Summary
from .summary._summary import summarize as summarize
