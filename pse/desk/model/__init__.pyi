from ._connections import check_connection as check_connection, possible_targets as possible_targets
from ._difference import Drawing as Drawing
from ._graph import (
    Json as Json,
    Offsets as Offsets,
    diagnostic_json as diagnostic_json,
)
from ._identity import Names as Names
from ._operations import Performed as Performed, perform as perform
from ._palette import palette as palette
from ._program import ProgramModel as ProgramModel
from ._text import Edit as Edit
