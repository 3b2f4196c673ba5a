"""Pictures of a trace: `draw` one of `VIEWS` and `save` it, in a script, a notebook or by ``pse view``.

Colours, rows and blocks need NumPy alone; matplotlib (the extra ``views``) is imported when a picture is
drawn.  Figures are made without pyplot, so no global state is touched.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
