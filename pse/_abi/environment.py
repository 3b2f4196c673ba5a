"""Environment variables: those by which MPI's launchers tell a process its place, and those of pse.

Made from cext/abi/environment.def by cext/abi/generate.py: change the table, not this file.
"""

from __future__ import annotations

# Its rank, in the order in which they are believed.
MPI_RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_RANK")
# Its place among the ranks of its node.
LOCAL_RANK_VARIABLES = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
LOCAL_SIZE_VARIABLES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")  # How many ranks its node has.
NODE_RANKS_VARIABLE = "SLURM_GTIDS"  # The ranks of its node, where Slurm itself starts them.
LAUNCHERS = ("mpiexec", "mpirun", "prterun", "orterun")  # What the launchers are called.
# MPICH's launcher has set one of these, or Intel's, which was made of it: PMI_FD takes commands of PMI-1.
HYDRA_VARIABLES = ("HYDI_CONTROL_FD", "PMI_HOSTNAME", "I_MPI_HYDRA_UUID")
PMI_ABORT = "cmd=abort exitcode="  # The command by which its job is ended; the exit code follows.
FORK_SERVER_VARIABLE = "PSE_FORK_SERVER"  # The socket of the process that forks ranks.
METAHOST_VARIABLE = "PSE_METAHOST"  # The machine that a host belongs to.
TRACE_VARIABLE = "PSE_TRACE_DIRECTORY"  # Where the tool `trace` writes unless it is told.
TOOLS_VARIABLE = "PSE_TOOLS"  # The file that says which tools are stacked.
TOOLS_OBJECT = "libpse_tools.so"  # The object that is preloaded for them.
TOOLS_PATH_VARIABLE = "PSE_TOOLS_PATH"  # Where tools are looked for.
