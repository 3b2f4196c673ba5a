"""The desk: programs drawn and written, run and watched, in a browser.

`model` makes the graph of a text and edits of the text from operations on the graph; `server` is the
application around it.  The text is the truth: the page keeps no other state of a program.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
