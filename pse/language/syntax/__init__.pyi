from ._formatter import format_program as format_program
from ._lexer import RESERVED as RESERVED
from ._parser import parse_program as parse_program
