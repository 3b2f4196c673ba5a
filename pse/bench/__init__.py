"""The subjects behind ``pse bench``: each measures one thing beside its floor or peer.

A subject is one file with a function ``measure(repeats, sizes, say)`` that returns figures; `subjects` lists
them. Its floors and peers run in the same minutes, in turn with it, since absolute times move between
machines and hours. Next rooms: ``running`` starts programs and peers, ``figures`` says what a figure is,
``_floors`` is C.
"""

from pse.bench.figures import Against, Figure, Result
from pse.bench.subjects import SUBJECTS, Subject, run

__all__ = ["SUBJECTS", "Against", "Figure", "Result", "Subject", "run"]
