from ._backoff import Backoff as Backoff, await_request as await_request
from ._cleanup import unlink_mpi_files as unlink_mpi_files
from ._error_format import exit_code_of as exit_code_of, print_error as print_error
from ._file_limit import raise_file_limit as raise_file_limit, ranks_within as ranks_within
from ._launcher_records import boot_id as boot_id, find_launcher as find_launcher
from ._monitor_handle import MonitorHandle as MonitorHandle
from ._processes import (
    die_with_mpiexec as die_with_mpiexec,
    die_with_parent as die_with_parent,
    inside_mpi_job as inside_mpi_job,
    local_rank as local_rank,
    local_ranks as local_ranks,
    outlive_first_rank as outlive_first_rank,
    own_rank as own_rank,
)
from ._raised_signals import StoppedBySignal as StoppedBySignal, raised_signals as raised_signals
from ._rank_setup import prepare_rank_process as prepare_rank_process
from ._stdio import (
    is_stream_full as is_stream_full,
    open_closed_streams as open_closed_streams,
    redirect_to_null as redirect_to_null,
)
