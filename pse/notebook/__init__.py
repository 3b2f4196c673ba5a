"""Jupyter, and Python in general: run programs, look at results, sweep over parameters.

`run` checks a program and runs it in a child process, so nothing here ever imports MPI; `experiment` does so
for a whole sweep and returns a data frame; ``%load_ext pse`` brings the cell magic ``%%coven`` (`magics`).
`pse.run` and `pse.experiment` are these functions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
