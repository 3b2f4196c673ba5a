"""Advice: a better thread assignment from one trace, with a predicted gain; and what-if.

`advise` takes a trace, simulates the program graph with its measured durations, CPU shares and transfer
costs, and gives an `Advice`: what to change, why, how long a run is going to take, and the change as text.
``docs/advise.md`` is the manual page.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
