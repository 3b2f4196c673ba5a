from ._formatter import format_program as format_program
from ._lexer import Scanned as Scanned, scan as scan
from ._parser import parse_program as parse_program
from ._words import (
    BUILTINS as BUILTINS,
    PROGRAM_KEYWORDS as PROGRAM_KEYWORDS,
    require_name as require_name,
)
