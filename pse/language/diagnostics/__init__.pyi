from ._diagnostic import (
    Diagnostic as Diagnostic,
    Severity as Severity,
    error_at as error_at,
    has_errors as has_errors,
    render_diagnostics as render_diagnostics,
    render_pieces as render_pieces,
    to_json as to_json,
)
from ._pages import CodePage as CodePage, code_pages as code_pages, find_code_page as find_code_page
from ._refusal import ProgramRefused as ProgramRefused
from ._source import Span as Span
from ._terminal import (
    print_diagnostic_lines as print_diagnostic_lines,
    print_diagnostics as print_diagnostics,
    summary_text as summary_text,
)
