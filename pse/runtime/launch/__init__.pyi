from ._command_launch import run_command_on_ranks as run_command_on_ranks
from ._launch import launch_job as launch_job
from ._mpiexec import (
    HOSTS_VARIABLE as HOSTS_VARIABLE,
    Hosts as Hosts,
    Mpiexec as Mpiexec,
    command_on_ranks as command_on_ranks,
    find_mpiexec as find_mpiexec,
    host_arguments as host_arguments,
    rank_environment as rank_environment,
)
