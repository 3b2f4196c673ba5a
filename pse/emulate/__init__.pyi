from .configuration._checks import check_configuration as check_configuration
from .configuration._configuration import (
    RECORDED as RECORDED,
    Application as Application,
    Configuration as Configuration,
    ConfigurationError as ConfigurationError,
    Setting as Setting,
)
from .configuration._reader import read_configuration as read_configuration
from .job._command import launch_command as launch_command
from .job._launch import nodes_of as nodes_of, run_launch as run_launch
from .job._loop_costs import LoopCosts as LoopCosts, loop_costs as loop_costs
from .launches._driver import (
    LaunchError as LaunchError,
    Stopped as Stopped,
    find_nodes as find_nodes,
    join_results as join_results,
    measure as measure,
)
from .launches._stopping import precision_of as precision_of
from .model._fit import fit as fit
from .model._loggp import (
    LogGPParameter as LogGPParameter,
    loggp_frame as loggp_frame,
    loggp_parameters as loggp_parameters,
)
from .model._model import (
    Dispersion as Dispersion,
    Measured as Measured,
    Model as Model,
    ModelError as ModelError,
    RankLine as RankLine,
    Segment as Segment,
)
from .patterns._cycle import Cycle as Cycle, PatternError as PatternError, Step as Step
from .patterns._lookup import find_pattern as find_pattern, load_patterns as load_patterns
from .patterns._registry import Pattern as Pattern, pattern as pattern
from .patterns._simulation import collective_cost as collective_cost, simulate as simulate
from .recorded._conversion import (
    TimedProgram as TimedProgram,
    record_program as record_program,
    record_timed_program as record_timed_program,
)
from .recorded._program import RecordedProgram as RecordedProgram
from .recorded._replay import replay as replay
from .report._printing import (
    print_comparison as print_comparison,
    print_loaded as print_loaded,
    print_model as print_model,
    print_report as print_report,
    report_console as report_console,
)
from .report._report_json import report_json as report_json
from .results._results import (
    CYCLE as CYCLE,
    EXCHANGE as EXCHANGE,
    Results as Results,
    ResultsError as ResultsError,
    check_target as check_target,
)
from .results._sameness import require_same as require_same
from .statistics._bootstrap import launch_interval as launch_interval
from .statistics._comparison import Comparison as Comparison, Difference as Difference, compare as compare
from .statistics._disturbances import Disturbance as Disturbance, disturbances as disturbances
from .statistics._groups import SMALL_MESSAGE as SMALL_MESSAGE
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
from .statistics._summary import Summary as Summary, summaries as summaries
