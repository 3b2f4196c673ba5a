/* Names, files and lines of compiled functions. */
#ifndef PSE_TRACE_SYMBOLS_H
#define PSE_TRACE_SYMBOLS_H

#include <stdbool.h>

enum { PSE_SYMBOL_PLACE = 4096 };

struct compiled_symbol {
    char *name, *mangled; /* what people read: C++'s names are demangled; what the symbol table has */
    const char *object;   /* file of the object that has it; NULL: unknown */
    unsigned long offset; /* in that object */
};

#pragma GCC visibility push(hidden)

/* What a function's address is called; an unknown one by its object and offset. */
void pse_trace_find_symbol(const void *address, struct compiled_symbol *symbol);
void pse_trace_free_symbol(struct compiled_symbol *symbol);
/* The object that an address is in, and the offset there; NULL if there is none. */
const char *pse_trace_object_of(const void *address, unsigned long *offset);
/* Files and lines ("/path/file.c:12") of offsets of an object, by addr2line: NULL where there is no debug
 * information, else to be freed.  False: addr2line can't be asked. */
bool pse_trace_find_lines(const char *object, const unsigned long offsets[], unsigned count, char *lines[]);

#pragma GCC visibility pop

#endif
