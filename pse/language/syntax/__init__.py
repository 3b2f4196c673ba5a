"""From text to the syntax tree, and back to text: lexer, parser, formatter."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
