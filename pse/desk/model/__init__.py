"""The editing model: a program's text as a graph, and operations on the graph as edits of the text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
