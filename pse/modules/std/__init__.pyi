from ._pieces import Pieces as Pieces
