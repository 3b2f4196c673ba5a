"""Advice: a better thread assignment from one trace, with a predicted gain; and what-if.

`advise` takes a trace, simulates the program graph with its measured durations, CPU shares and transfer
costs, and gives an `Advice`: what to change, why, how long a run is going to take, and the change as text.
``docs/advise.md`` is the manual page.

May touch: reads the trace, the program and its modules' sources; `Advice.apply` writes the program.  Imports
``modules``, ``trace``, ``graph``, ``language``.
"""

from pse.advise.advice import Advice, advise, run_time
from pse.advise.edits import Edit
from pse.advise.errors import AdviceError
from pse.advise.prediction import Prediction
from pse.advise.whatif import WhatIf, parse_whatif

__all__ = ["Advice", "AdviceError", "Edit", "Prediction", "WhatIf", "advise", "parse_whatif", "run_time"]
