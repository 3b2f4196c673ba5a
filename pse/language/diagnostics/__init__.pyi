from ._diagnostic import (
    Diagnostic as Diagnostic,
    Severity as Severity,
    error as error,
    has_errors as has_errors,
    render as render,
    render_pieces as render_pieces,
    to_json as to_json,
)
from ._source import Span as Span
from ._terminal import show as show, summary as summary
