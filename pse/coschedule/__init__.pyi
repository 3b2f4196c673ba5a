from ._comm import Comm as Comm
from ._errors import (
    CommunicationError as CommunicationError,
    DeadlockError as DeadlockError,
    MismatchError as MismatchError,
    RankDiedError as RankDiedError,
    TruncationError as TruncationError,
)
from ._monitor import Distribution as Distribution, Report as Report
from ._monitor_files import (
    load_reports as load_reports,
    load_slices as load_slices,
    merge_slices as merge_slices,
    node_rows as node_rows,
    nodes_of_slices as nodes_of_slices,
    routine_times as routine_times,
    routine_totals as routine_totals,
    slice_summary as slice_summary,
    slices_between as slices_between,
)
from ._primitives import GlobalMemory as GlobalMemory
from ._prompt import Prompt as Prompt
from ._requests import Request as Request
from ._simulate import (
    Costs as Costs,
    Simulated as Simulated,
    measure_costs as measure_costs,
    monitoring_costs as monitoring_costs,
    simulate as simulate,
)
from ._stepper import Break as Break, Slice as Slice, Stepper as Stepper
from ._workloads import Workload as Workload
