/* Sentences put together in a fixed buffer, without allocation: safe in a signal handler. */
#ifndef PSE_FAULTS_SIGNAL_SAFE_TEXT_H
#define PSE_FAULTS_SIGNAL_SAFE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define PSE_FAULTS_TEXT_BYTES 8192

typedef struct pse_faults_text {
    size_t length; /* Always less than PSE_FAULTS_TEXT_BYTES; what doesn't fit is cut off. */
    char text[PSE_FAULTS_TEXT_BYTES];
} pse_faults_text;

/* Append a text; NULL is nothing.  The buffer stays terminated. */
void pse_faults_text_add(pse_faults_text *words, const char *text);

void pse_faults_text_add_number(pse_faults_text *words, int64_t number);

/* Write all of it to a descriptor, with the final zero byte if `terminated`. */
void pse_faults_text_write(const pse_faults_text *words, int fd, int terminated);

#endif
