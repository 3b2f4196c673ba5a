from ._piece_layout import Pieces as Pieces
