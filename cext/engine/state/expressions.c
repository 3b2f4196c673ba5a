#include "state/expressions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state/arithmetic.h"
#include "state/buffers.h"
#include "state/engine_state.h"
#include "state/number_text.h"
#include "state/slots.h"

#define STACK_SIZE 128

typedef struct pse_engine_stack {
    pse_engine_number numbers[STACK_SIZE];
    int top;
} pse_engine_stack;

static bool put_text(pse_engine_stack *stack, char *text)
{
    stack->numbers[stack->top++] = (pse_engine_number){.kind = PSE_NUMBER_TEXT, .text = text};
    return text != NULL;
}

static bool put_integer(pse_engine_stack *stack, int64_t integer)
{
    stack->numbers[stack->top++] = (pse_engine_number){.kind = PSE_NUMBER_INTEGER, .integer = integer};
    return true;
}

static bool put_number(pse_engine_stack *stack, enum pse_number_kind kind, double real, double imaginary)
{
    stack->numbers[stack->top++] = (pse_engine_number){.kind = kind, .real = real, .imaginary = imaginary};
    return true;
}

static bool put_slot(pse_context *context, const pse_engine *s, int32_t slot, pse_engine_stack *stack)
{
    const pse_engine_value *v = pse_engine_slot_read(context, slot);
    if (v->state == VALUE_BUFFER)
        return put_text(stack, strdup(pse_engine_buffer_data(s, v->as.buffer)));
    if (v->state != VALUE_SCALAR)
        return false;
    if (v->dtype == PSE_I64)
        return put_integer(stack, v->as.integer);
    bool is_complex = v->dtype == PSE_C128;
    return put_number(stack, is_complex ? PSE_NUMBER_COMPLEX : PSE_NUMBER_REAL, v->as.real[0],
                      is_complex ? v->as.real[1] : 0);
}

static bool put_extent(pse_context *context, const pse_term *term, pse_engine_stack *stack)
{
    const pse_engine_value *v = pse_engine_slot_read(context, term->slot);
    return v->state == VALUE_BUFFER && put_integer(stack, v->as.buffer->layout.shape[term->axis]);
}

/* Replace the number on top by its text, as the program's element type says it is written. */
static bool format(pse_engine_stack *stack, int element)
{
    char text[PSE_NUMBER_TEXT_BYTES];
    pse_engine_number n = stack->numbers[--stack->top];
    double real = n.kind == PSE_NUMBER_INTEGER ? (double)n.integer : n.real;
    if (element == PSE_BOOL)
        snprintf(text, sizeof text, "%s", n.integer ? "true" : "false");
    else if (element == PSE_C64 || element == PSE_C128)
        pse_engine_number_complex_text(real, n.imaginary, text);
    else if (element == PSE_F32 || element == PSE_F64)
        pse_engine_number_real_text(real, true, text);
    else
        snprintf(text, sizeof text, "%" PRId64, n.integer);
    return put_text(stack, strdup(text));
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void set_number(const pse_engine_number *n, pse_engine_value *out)
{
    if (n->kind == PSE_NUMBER_INTEGER) {
        pse_engine_value_set_integer(out, n->integer);
        return;
    }
    pse_engine_value_set_real(out, n->real);
    if (n->kind == PSE_NUMBER_COMPLEX) {
        out->dtype = PSE_C128;
        out->as.real[1] = n->imaginary;
    }
}

static bool has_no_value(pse_engine *s, int kind, pse_engine_number left, pse_engine_number right)
{
    s->no_value.kind = kind;
    set_number(&left, &s->no_value.left);
    set_number(&right, &s->no_value.right);
    return false;
}

static bool join(pse_engine *s, pse_engine_stack *stack)
{
    char *right = stack->numbers[--stack->top].text, *left = stack->numbers[--stack->top].text, *both = NULL;
    if (characters(left) + characters(right) <= PSE_MAX_TEXT)
        both = malloc(strlen(left) + strlen(right) + 1);
    if (both != NULL)
        strcat(strcpy(both, left), right);
    free(left);
    free(right);
    if (both == NULL)
        s->no_value.kind = PSE_TERM_JOIN;
    return put_text(stack, both);
}

static bool is_binary(int kind)
{
    return kind >= PSE_TERM_ADD && kind <= PSE_TERM_MAXIMUM;
}

static bool is_skip(int kind)
{
    return kind == PSE_TERM_SKIP_UNLESS || kind == PSE_TERM_SKIP_WHEN;
}

/* `and` and `or` leave out what can't change them: gives how many terms to pass over. */
static int32_t skipped(const pse_term *term, pse_engine_number *top)
{
    bool when = term->kind == PSE_TERM_SKIP_WHEN;
    if (pse_engine_number_truth(*top) != when)
        return 0;
    *top = (pse_engine_number){.kind = PSE_NUMBER_INTEGER, .integer = when};
    return term->slot;
}

static bool operate(pse_engine *s, int kind, pse_engine_stack *stack)
{
    pse_engine_number *last = &stack->numbers[stack->top - 1], right = *last;
    if (!is_binary(kind))
        return pse_engine_number_unary(kind, right, last) || has_no_value(s, kind, right, right);
    pse_engine_number left = last[-1];
    stack->top--;
    bool fine = pse_engine_number_binary(kind, left, right, &last[-1]) || has_no_value(s, kind, left, right);
    if (left.kind == PSE_NUMBER_TEXT) {
        free(left.text);
        free(right.text);
    }
    return fine;
}

static bool apply(pse_context *context, pse_engine *s, const pse_term *term, pse_engine_stack *stack)
{
    if (stack->top == STACK_SIZE)
        return false;
    switch (term->kind) {
    case PSE_TERM_INTEGER:
        return put_integer(stack, term->value.integer);
    case PSE_TERM_REAL:
        return put_number(stack, PSE_NUMBER_REAL, term->value.real, 0);
    case PSE_TERM_IMAGINARY:
        return put_number(stack, PSE_NUMBER_COMPLEX, 0, term->value.real);
    case PSE_TERM_TEXT:
        return put_text(stack, strdup((const char *)(uintptr_t)term->value.integer));
    case PSE_TERM_EXTENT:
        return put_extent(context, term, stack);
    case PSE_TERM_SLOT:
        return put_slot(context, s, term->slot, stack);
    case PSE_TERM_FORMAT:
        return format(stack, term->slot);
    case PSE_TERM_JOIN:
        return join(s, stack);
    default:
        return operate(s, term->kind, stack);
    }
}

static void discard(pse_engine_stack *stack)
{
    while (stack->top > 0)
        if (stack->numbers[--stack->top].kind == PSE_NUMBER_TEXT)
            free(stack->numbers[stack->top].text);
}

/* Work an expression out; the text of a result belongs to the caller. */
static bool calculate(pse_context *context, pse_engine *s, int32_t expression, pse_engine_number *out)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *terms = &s->plan->terms[range->first];
    pse_engine_stack stack;
    stack.top = 0;
    for (int32_t i = 0; i < range->count; i++) {
        if (is_skip(terms[i].kind))
            i += skipped(&terms[i], &stack.numbers[stack.top - 1]);
        else if (!apply(context, s, &terms[i], &stack)) {
            discard(&stack);
            return false;
        }
    }
    *out = stack.numbers[0];
    return true;
}

/* A string is an array of bytes, with the null byte, in this rank's own memory. */
static bool set_text(pse_engine *s, const char *text, pse_engine_value *out)
{
    const int64_t extent = (int64_t)strlen(text) + 1;
    pse_block *block = pse_engine_buffer_make_private(s, (uint64_t)extent);
    if (block == NULL)
        return false;
    block->flags |= PSE_BLOCK_UNRECORDED;
    block->owner = s->plan->rank;
    block->site = PSE_NONE;
    block->tph = 0;
    pse_engine_layout_fill(&block->layout, PSE_OBJECT, 1, 1, &extent);
    memcpy(pse_engine_buffer_data(s, block), text, (size_t)extent);
    out->state = VALUE_BUFFER;
    out->dtype = PSE_OBJECT;
    out->as.buffer = block;
    return true;
}

bool pse_engine_evaluate(pse_context *context, pse_engine *s, int32_t expression, pse_engine_value *out)
{
    pse_engine_number result;
    if (!calculate(context, s, expression, &result))
        return false;
    set_number(&result, out);
    return true;
}

bool pse_engine_evaluate_any(pse_context *context, pse_engine *s, int32_t expression, pse_engine_value *out)
{
    pse_engine_number result;
    if (!calculate(context, s, expression, &result))
        return false;
    if (result.kind != PSE_NUMBER_TEXT) {
        set_number(&result, out);
        return true;
    }
    bool fine = set_text(s, result.text, out);
    free(result.text);
    return fine;
}

bool pse_engine_evaluate_integer(pse_context *context, pse_engine *s, int32_t expression, int64_t *out)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *term = &s->plan->terms[range->first];
    if (range->count == 1 && term->kind == PSE_TERM_INTEGER) {
        *out = term->value.integer;
        return true;
    }
    pse_engine_value result;
    if (!pse_engine_evaluate(context, s, expression, &result))
        return false;
    *out = result.dtype == PSE_I64 ? result.as.integer : (int64_t)result.as.real[0];
    return true;
}

/* Whether all slots that the expression reads have their values. */
bool pse_engine_expression_ready(pse_context *context, const pse_engine *s, int32_t expression)
{
    const pse_expression *range = &s->plan->expressions[expression];
    const pse_term *term = &s->plan->terms[range->first];
    for (int32_t i = 0; i < range->count; i++, term++)
        if ((term->kind == PSE_TERM_SLOT || term->kind == PSE_TERM_EXTENT) &&
            pse_engine_slot_read(context, term->slot)->state == VALUE_AWAITED)
            return false;
    return true;
}

bool pse_engine_extent_has_value(pse_engine *s, int64_t extent)
{
    pse_engine_number number = {.kind = PSE_NUMBER_INTEGER, .integer = extent};
    return extent >= 0 || has_no_value(s, PSE_TERM_EXTENT, number, number);
}
