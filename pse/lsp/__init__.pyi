from ._analysis import (
    Analysis as Analysis,
    OpenFiles as OpenFiles,
    Readings as Readings,
    collect_rarely as collect_rarely,
)
from ._navigation import rename as rename, uri_of as uri_of
from ._refactorings import extract_segment as extract_segment
from ._requests import make_server as make_server, serve as serve
from ._segment_inlining import inline_segment as inline_segment
from ._server import ProgramServer as ProgramServer, path_of as path_of
from ._symbols import Symbol as Symbol, Symbols as Symbols
