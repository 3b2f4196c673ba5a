from ._backoff import Backoff as Backoff
from ._error_format import error_text as error_text, exit_code as exit_code, print_error as print_error
from ._launcher_records import find_launcher as find_launcher
from ._node_monitor import Hired as Hired
from ._processes import inside_mpi_job as inside_mpi_job, local_rank as local_rank, own_rank as own_rank
from ._stdio import is_full as is_full, open_closed as open_closed, to_nobody as to_nobody
