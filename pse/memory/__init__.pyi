from ._arena import Arena as Arena, Block as Block
from ._capacity import default_capacity as default_capacity, memory_figures as memory_figures
from ._errors import (
    ArenaError as ArenaError,
    ArenaMemoryError as ArenaMemoryError,
    ArenaSystemError as ArenaSystemError,
)
from ._kernels import (
    border_rows as border_rows,
    keep_rows as keep_rows,
    leaving_rows as leaving_rows,
    list_border as list_border,
    pack_rows as pack_rows,
    strided_copy as strided_copy,
)
from ._records import (
    ArenaStatistics as ArenaStatistics,
    Descriptor as Descriptor,
    LiveBlock as LiveBlock,
    MemoryFigures as MemoryFigures,
)
