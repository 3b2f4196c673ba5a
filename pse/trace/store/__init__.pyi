from ._chunked_reading import pieces as pieces
from ._files import Array as Array
from ._trace_defects import spans as spans
