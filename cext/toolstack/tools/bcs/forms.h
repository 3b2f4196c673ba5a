/* Names and parameters of routines that have a form for counts of int and one for MPI_Count. */
#ifndef PSE_BCS_FORMS_H
#define PSE_BCS_FORMS_H

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
#define AT(address, number, kind) ((struct pse_bcs_place){(char *)(uintptr_t)(address), number, kind})

#endif
