"""The subjects behind ``pse bench``: each measures one thing beside its floor or peer.

A subject is one file with a function ``measure(repeats, sizes, say)`` that returns figures; `subjects` lists
them. Its floors and peers run in the same minutes, in turn with it, since absolute times move between
machines and hours.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
