from ._host_info import cpu_model as cpu_model, mpi_library as mpi_library
from ._rank_main import run_rank as run_rank
