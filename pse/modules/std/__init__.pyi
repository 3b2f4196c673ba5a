from ._endings import require_format as require_format, require_shape as require_shape
from ._image_folder import require_pillow as require_pillow
from ._piece_layout import Pieces as Pieces
