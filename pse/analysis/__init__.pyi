from ._activity import Activity as Activity, BlockKind as BlockKind, rank_activity as rank_activity
from ._job import analyze_in_job as analyze_in_job
from .chains._chain_search import (
    final_waits as final_waits,
    parse_time as parse_time,
    wait_chain as wait_chain,
    wait_suspects as wait_suspects,
)
from .chains._wait_ends import wait_ends as wait_ends
from .cube._algebra import (
    cube_difference as cube_difference,
    cube_mean as cube_mean,
    cube_union as cube_union,
    difference_text as difference_text,
)
from .cube._cube import CallPath as CallPath, Cube as Cube, Location as Location
from .cube._cube_file import read_cube as read_cube, write_cube as write_cube
from .cube._cube_text import cube_text as cube_text, severities_json as severities_json
from .cube._cubex import export_cubex as export_cubex
from .cube._cut import cube_cut as cube_cut
from .cube._metrics import LISTED_WAITS as LISTED_WAITS, METRICS as METRICS, Metric as Metric
from .cube._remedies import remedies as remedies
from .history._history_text import tph_history_text as tph_history_text
from .history._partition_steps import CollectiveStep as CollectiveStep, MessageStep as MessageStep
from .history._tph_history import (
    CallStep as CallStep,
    HandoverStep as HandoverStep,
    TphHistory as TphHistory,
    tph_history as tph_history,
)
from .path._critical_path import (
    CriticalPath as CriticalPath,
    PathShare as PathShare,
    StepKind as StepKind,
    critical_path as critical_path,
    critical_path_text as critical_path_text,
)
from .replay._analysis import (
    analysis_traffic as analysis_traffic,
    analyze as analyze,
    analyze_parallel as analyze_parallel,
    open_repaired as open_repaired,
    wait_states as wait_states,
)
from .replay._peers import Traffic as Traffic
from .statistics._message_statistics import (
    LEVELS as LEVELS,
    MessageStatistics as MessageStatistics,
    message_statistics as message_statistics,
    message_tables as message_tables,
    no_messages as no_messages,
)
from .statistics._operation_paths import OperationPaths as OperationPaths
from .statistics._run_differences import (
    RunDifference as RunDifference,
    call_site_names as call_site_names,
    differences_text as differences_text,
    run_differences as run_differences,
)
from .statistics._statistics_text import statistics_text as statistics_text
from .waits._chain_text import wait_chain_text as wait_chain_text
from .waits._wait_causes import wait_causes as wait_causes
from .waits._wait_chain import (
    LastArrival as LastArrival,
    Link as Link,
    Message as Message,
    WaitChain as WaitChain,
    WaitEnd as WaitEnd,
)
from .waits._wake_candidates import CauseKind as CauseKind
