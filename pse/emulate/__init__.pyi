from .results._results import (
    CYCLE as CYCLE,
    EXCHANGE as EXCHANGE,
    Results as Results,
    ResultsError as ResultsError,
)
