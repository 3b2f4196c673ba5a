/* Sentences put together in a fixed buffer, without allocation: safe in a signal handler. */
#ifndef PSE_WORDS_H
#define PSE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define PSE_WORDS_ROOM 2048

typedef struct pse_words {
    size_t length; /* Always less than PSE_WORDS_ROOM; what doesn't fit is cut off. */
    char text[PSE_WORDS_ROOM];
} pse_words;

/* Append a text; NULL is nothing.  The buffer stays terminated. */
void pse_words_add(pse_words *words, const char *text);

void pse_words_number(pse_words *words, int64_t number);

/* Write all of it to a descriptor, with the final zero byte if `terminated`. */
void pse_words_write(const pse_words *words, int fd, int terminated);

#endif
