from .model._fit import fit as fit
from .model._model import (
    Dispersion as Dispersion,
    Measured as Measured,
    Model as Model,
    ModelError as ModelError,
    RankLine as RankLine,
    Segment as Segment,
)
from .results._results import (
    CYCLE as CYCLE,
    EXCHANGE as EXCHANGE,
    Results as Results,
    ResultsError as ResultsError,
)
