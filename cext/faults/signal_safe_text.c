#include "signal_safe_text.h"

#include <errno.h>
#include <unistd.h>

void pse_faults_text_add(pse_faults_text *words, const char *text)
{
    while (text != NULL && *text != '\0' && words->length + 1 < PSE_FAULTS_TEXT_BYTES)
        words->text[words->length++] = *text++;
    words->text[words->length] = '\0';
}

void pse_faults_text_add_number(pse_faults_text *words, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = number < 0 ? (uint64_t)0 - (uint64_t)number : (uint64_t)number;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0)
        digits[--at] = '-';
    pse_faults_text_add(words, &digits[at]);
}

void pse_faults_text_write(const pse_faults_text *words, int fd, int terminated)
{
    const char *from = words->text;
    size_t left = words->length + (terminated ? 1 : 0);
    while (left > 0) {
        ssize_t written = write(fd, from, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        from += written;
        left -= (size_t)written;
    }
}
