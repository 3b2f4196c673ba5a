"""Control of a running program from outside: pause it, step it, change it, look at what it computes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
