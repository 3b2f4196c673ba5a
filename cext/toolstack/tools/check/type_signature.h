/* What a datatype is made of, in a form that ranks can compare: number and kind of its elements.
 *
 * Kinds are told by what they hold and their size, not by name: MPI_INT and MPI_INT32_T are the same, and
 * MPI_BYTE and MPI_PACKED fit everything.  Types of several kinds have a hash of the sequence, which can be
 * repeated and joined as the types are.
 */
#ifndef PSE_CHECK_TYPE_SIGNATURE_H
#define PSE_CHECK_TYPE_SIGNATURE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "handle_table.h"
#include "notices.h"

struct known_type {
    struct pse_handle_node node;
    struct type_signature one; /* of one item */
    bool predefined;
    char where[PSE_CALL_SITE_TEXT];
    char routine[40]; /* that made it; "": it isn't the program's to free */
};

#pragma GCC visibility push(hidden)

extern struct pse_handle_table pse_check_types;     /* of struct known_type */
extern _Thread_local const char *pse_check_routine; /* that the program has called */

/* What is sent or received: counted items of a type, which is remembered.  One that was freed is reported. */
struct type_signature pse_check_signature_of(MPI_Count count, MPI_Datatype datatype);
/* The same sequence of elements. */
bool pse_check_same_elements(struct type_signature a, struct type_signature b);
/* Whether a message's elements begin what a buffer was made for; `item` is one item of the buffer's type. */
bool pse_check_begins(struct type_signature message, struct type_signature buffer,
                      struct type_signature item);
void pse_check_signature_text(struct type_signature signature, char *text, size_t room);
void pse_check_type_made(MPI_Datatype datatype, const char *routine);
/* MPI has given the program a handle, which may be one that was freed. */
void pse_check_type_given(MPI_Datatype datatype);
void pse_check_type_freed(MPI_Datatype datatype);

#pragma GCC visibility pop

#endif
