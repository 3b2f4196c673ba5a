"""Pictures of a trace: `draw` one of `VIEWS` and `save` it, in a script, a notebook or by ``pse view``.

Colours, rows and blocks need NumPy alone; matplotlib (the extra ``views``) is imported when a picture is
drawn.  Figures are made without pyplot, so no global state is touched.

May touch: the file that `save` is given.  Imports ``trace``, ``graph``'s palette and ``language``'s errors.
Next room: ``pse/cli/view.py``, and ``notebook``, which shows the same figures.
"""

from pse.views.catalogue import VIEWS, View, draw
from pse.views.colours import Style, module_colours, module_styles, routine_colours, wait_colours
from pse.views.rows import Row, rows
from pse.views.saving import save

__all__ = [
    "VIEWS",
    "Row",
    "Style",
    "View",
    "draw",
    "module_colours",
    "module_styles",
    "routine_colours",
    "rows",
    "save",
    "wait_colours",
]
