from ._endings import require_format as require_format
from ._piece_layout import Pieces as Pieces
