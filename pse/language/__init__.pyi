from .check._binding import (
    Bound as Bound,
    bind_parameters as bind_parameters,
    check_values as check_values,
    parse_defines as parse_defines,
)
from .check._checker import (
    CheckResult as CheckResult,
    Inspection as Inspection,
    check_program as check_program,
    inspect_program as inspect_program,
)
from .check._directive import (
    ModuleFile as ModuleFile,
    ModuleFinder as ModuleFinder,
    parse_directive as parse_directive,
    parse_record as parse_record,
)
from .diagnostics._diagnostic import (
    Diagnostic as Diagnostic,
    Severity as Severity,
    render_diagnostics as render_diagnostics,
    to_json as to_json,
)
from .diagnostics._source import Span as Span
from .diagnostics._terminal import print_diagnostics as print_diagnostics
from .io._source_file import open_text as open_text, read_program as read_program
from .syntax._formatter import format_program as format_program
from .syntax._parser import ParseResult as ParseResult, parse_program as parse_program
from .types._evaluation import evaluate as evaluate
from .types._expressions import names_in as names_in, render_expression as render_expression
