/* Made from cext/abi/environment.def by cext/abi/generate.py: change the table, not this file. */
/* clang-format off */
#ifndef PSE_ABI_ENVIRONMENT_H
#define PSE_ABI_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

/* Its rank, in the order in which they are believed. */
#define PSE_RANK_VARIABLES "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_RANK"

/* Its place among the ranks of its node. */
#define PSE_LOCAL_RANK_VARIABLES "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"

/* How many ranks its node has. */
#define PSE_LOCAL_SIZE_VARIABLES "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"
#define PSE_NODE_RANKS "SLURM_GTIDS" /* The ranks of its node, where Slurm itself starts them. */
#define PSE_LAUNCHERS "mpiexec", "mpirun", "prterun", "orterun" /* What the launchers are called. */

/* MPICH's launcher has set one of these, or Intel's, which was made of it: PMI_FD takes commands of PMI-1. */
#define PSE_HYDRA_VARIABLES "HYDI_CONTROL_FD", "PMI_HOSTNAME", "I_MPI_HYDRA_UUID"

/* The command by which its job is ended; the exit code follows. */
#define PSE_PMI_ABORT "cmd=abort exitcode="
#define PSE_FORK_SERVER_VARIABLE "PSE_FORK_SERVER" /* The socket of the process that forks ranks. */
#define PSE_METAHOST_VARIABLE "PSE_METAHOST" /* The machine that a host belongs to. */
#define PSE_TRACE_VARIABLE "PSE_TRACE_DIRECTORY" /* Where the tool `trace` writes unless it is told. */
#define PSE_TOOLS_VARIABLE "PSE_TOOLS" /* The file that says which tools are stacked. */
#define PSE_TOOLS_OBJECT "libpse_tools.so" /* The object that is preloaded for them. */
#define PSE_TOOLS_PATH_VARIABLE "PSE_TOOLS_PATH" /* Where tools are looked for. */

#endif
