#include "state/number_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 17

/* The digits of a positive number, without the point, and the power of ten of the first. */
typedef struct pse_decimal {
    char digits[MOST_DIGITS + 8];
    int exponent;
} pse_decimal;

/* Read "d.ddde+XX"; whatever the locale writes for the point is passed over. */
static void read_scientific(const char *text, int digits, pse_decimal *out)
{
    out->digits[0] = text[0];
    memcpy(out->digits + 1, text + (digits > 1 ? 2 : 1), (size_t)digits - 1);
    out->digits[digits] = '\0';
    out->exponent = atoi(strchr(text, 'e') + 1);
}

static bool reads_back(const pse_decimal *decimal, double x)
{
    char text[MOST_DIGITS + 24];
    snprintf(text, sizeof text, "%se%d", decimal->digits,
             decimal->exponent - (int)strlen(decimal->digits) + 1);
    return strtod(text, NULL) == x;
}

/* At a power of two the gaps to both neighbours differ: the next decimal above may be the one that fits. */
static bool next_above(pse_decimal *decimal)
{
    long long above = atoll(decimal->digits) + 1;
    size_t before = strlen(decimal->digits);
    snprintf(decimal->digits, sizeof decimal->digits, "%lld", above);
    return strlen(decimal->digits) == before;
}

static void shortest(double x, pse_decimal *out)
{
    char text[MOST_DIGITS + 16];
    for (int digits = 1; digits <= MOST_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        read_scientific(text, digits, out);
        if (reads_back(out, x) || (next_above(out) && reads_back(out, x)))
            break;
    }
    for (size_t last = strlen(out->digits) - 1; last > 0 && out->digits[last] == '0'; last--)
        out->digits[last] = '\0';
}

static void write_fixed(const pse_decimal *decimal, bool point, char *out)
{
    int digits = (int)strlen(decimal->digits), before = decimal->exponent + 1;
    if (before <= 0)
        sprintf(out, "0.%.*s%s", -before, "0000", decimal->digits);
    else if (digits <= before)
        sprintf(out, "%s%.*s%s", decimal->digits, before - digits, "0000000000000000", point ? ".0" : "");
    else
        sprintf(out, "%.*s.%s", before, decimal->digits, decimal->digits + before);
}

static void write_scientific(const pse_decimal *decimal, char *out)
{
    const char *rest = decimal->digits + 1;
    sprintf(out, "%c%s%se%c%02d", decimal->digits[0], *rest != '\0' ? "." : "", rest,
            decimal->exponent < 0 ? '-' : '+', abs(decimal->exponent));
}

void pse_engine_number_real_text(double x, bool point, char *out)
{
    pse_decimal decimal = {.digits = "0"};
    if (signbit(x) && !isnan(x))
        *out++ = '-';
    if (!isfinite(x)) {
        strcpy(out, isnan(x) ? "nan" : "inf");
        return;
    }
    if (x != 0)
        shortest(fabs(x), &decimal);
    if (decimal.exponent >= -4 && decimal.exponent < 16)
        write_fixed(&decimal, point, out);
    else
        write_scientific(&decimal, out);
}

void pse_engine_number_complex_text(double real, double imaginary, char *out)
{
    char first[PSE_NUMBER_TEXT_BYTES / 2], second[PSE_NUMBER_TEXT_BYTES / 2];
    pse_engine_number_real_text(real, false, first);
    pse_engine_number_real_text(imaginary, false, second);
    if (real == 0 && !signbit(real))
        sprintf(out, "%sj", second);
    else
        sprintf(out, "(%s%s%sj)", first, second[0] == '-' ? "" : "+", second);
}
