from .model._fit import fit as fit
from .model._model import (
    Dispersion as Dispersion,
    Measured as Measured,
    Model as Model,
    ModelError as ModelError,
    RankLine as RankLine,
    Segment as Segment,
)
from .report._printing import (
    print_comparison as print_comparison,
    print_model as print_model,
    print_report as print_report,
    report_console as report_console,
)
from .results._results import (
    CYCLE as CYCLE,
    EXCHANGE as EXCHANGE,
    Results as Results,
    ResultsError as ResultsError,
)
from .statistics._comparison import Comparison as Comparison, Difference as Difference, compare as compare
from .statistics._disturbances import Disturbance as Disturbance, disturbances as disturbances
from .statistics._prediction import (
    Loaded as Loaded,
    RunTime as RunTime,
    loaded_ratios as loaded_ratios,
    run_times as run_times,
)
from .statistics._series import (
    Change as Change,
    Period as Period,
    autocorrelation as autocorrelation,
    find_changes as find_changes,
    find_period as find_period,
)
from .statistics._summary import METRICS as METRICS, Summary as Summary, summaries as summaries
