/* How a file of wrappers that is compiled twice writes counts: as int, and with LARGE_COUNTS as MPI_Count.
 *
 * COUNT is the type of a count, PLACE that of a displacement, FORM(MPI_Send) the name.
 */
#ifndef PSE_TOOL_COUNT_FORMS_H
#define PSE_TOOL_COUNT_FORMS_H

#ifdef LARGE_COUNTS
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define FORM(name) name##_c
#else
#define COUNT int
#define PLACE int
#define FORM(name) name
#endif

#define MESSAGE COUNT count, MPI_Datatype datatype
#define SENDING const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype
#define RECEIVING void *recvbuf, COUNT recvcount, MPI_Datatype recvtype

#endif
