/* Taking datatypes apart and comparing what they are made of. */
#include "type_signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pse_tools.h"
#include "report.h"
#include "tool_memory.h"

struct pse_handle_table pse_check_types;

enum {
    KIND_ANY = 1,
    KIND_INTEGER,
    KIND_UNSIGNED,
    KIND_FLOAT,
    KIND_COMPLEX,
    KIND_CHARACTER,
    KIND_LOGICAL,
    KIND_OTHER
};

#define HASH_BASE 0x9e3779b97f4a7c15u

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/* The sequence of a, then that of b. */
static struct type_signature join(struct type_signature a, struct type_signature b)
{
    if (!a.elements || !b.elements)
        return a.elements ? a : b;
    return (struct type_signature){a.bytes + b.bytes, a.elements + b.elements,
                                   a.hash * power(HASH_BASE, b.elements) + b.hash,
                                   a.basic == b.basic ? a.basic : 0, 1};
}

static struct type_signature repeat(struct type_signature one, uint64_t times)
{
    struct type_signature all = {.given = 1};
    for (; times; times >>= 1, one = join(one, one))
        if (times & 1)
            all = join(one, all);
    return all;
}

/* The first part that a name has, in this order. */
static uint32_t kind_by_name(const char *name)
{
    static const struct {
        const char *part;
        uint32_t kind;
    } parts[] = {{"BYTE", KIND_ANY},          {"PACKED", KIND_ANY},      {"COMPLEX", KIND_COMPLEX},
                 {"UNSIGNED", KIND_UNSIGNED}, {"UINT", KIND_UNSIGNED},   {"SIGNED_CHAR", KIND_INTEGER},
                 {"CHAR", KIND_CHARACTER},    {"LOGICAL", KIND_LOGICAL}, {"BOOL", KIND_LOGICAL},
                 {"FLOAT", KIND_FLOAT},       {"DOUBLE", KIND_FLOAT},    {"REAL", KIND_FLOAT},
                 {"INT", KIND_INTEGER},       {"LONG", KIND_INTEGER},    {"SHORT", KIND_INTEGER},
                 {"COUNT", KIND_INTEGER},     {"OFFSET", KIND_INTEGER}};
    static const char *const pairs[] = {"MPI_FLOAT_INT", "MPI_DOUBLE_INT", "MPI_LONG_INT", "MPI_SHORT_INT",
                                        "MPI_LONG_DOUBLE_INT"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i]) == 0)
            return KIND_OTHER;
    for (size_t i = 0; strncmp(name, "MPI_2", 5) != 0 && i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].kind;
    return KIND_OTHER;
}

static struct type_signature predefined_signature(MPI_Datatype datatype)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length, size = 0;
    PMPI_Type_get_name(datatype, name, &length);
    PMPI_Type_size(datatype, &size);
    if (size <= 0)
        return (struct type_signature){.given = 1};
    uint32_t kind = kind_by_name(name);
    if (kind == KIND_ANY)
        return (struct type_signature){(uint64_t)size, (uint64_t)size, 0, KIND_ANY << 16, 1};
    uint32_t basic = kind << 16 | (uint32_t)size;
    return (struct type_signature){(uint64_t)size, 1, basic * HASH_BASE ^ 0x5bd1e995, basic, 1};
}

#if MPI_VERSION >= 4
typedef MPI_Count type_count;
#else
typedef int type_count;
#endif

struct type_contents {
    int combiner;
    type_count integers, addresses, large, types;
};

static struct type_contents contents_of(MPI_Datatype datatype)
{
    struct type_contents found = {0};
#if MPI_VERSION >= 4
    PMPI_Type_get_envelope_c(datatype, &found.integers, &found.addresses, &found.large, &found.types,
                             &found.combiner);
#else
    PMPI_Type_get_envelope(datatype, &found.integers, &found.addresses, &found.types, &found.combiner);
#endif
    return found;
}

static struct type_signature signature_of_type(MPI_Datatype datatype);

/* Block lengths of a struct are among its integers, or its large counts. */
static struct type_signature join_parts(const struct type_contents *found, MPI_Datatype datatype,
                                        const MPI_Datatype parts[], const int integers[],
                                        const MPI_Count large[])
{
    struct type_signature whole = {.given = 1};
    MPI_Count size = 0, part = 0;
    if (found->combiner == MPI_COMBINER_STRUCT) {
        for (type_count i = 0; i < found->types; i++) {
            MPI_Count n = found->large ? large[1 + i] : integers[1 + i];
            whole = join(whole, repeat(signature_of_type(parts[i]), (uint64_t)n));
        }
        return whole;
    }
    PMPI_Type_size_x(datatype, &size); /* All others repeat one type. */
    PMPI_Type_size_x(parts[0], &part);
    return part > 0 ? repeat(signature_of_type(parts[0]), (uint64_t)(size / part)) : whole;
}

static void free_part(MPI_Datatype *part)
{
    if (contents_of(*part).combiner != MPI_COMBINER_NAMED)
        PMPI_Type_free(part);
}

static struct type_signature derived_signature(MPI_Datatype datatype, const struct type_contents *found)
{
    int *integers = pse_tool_memory((size_t)found->integers * sizeof *integers);
    MPI_Aint *addresses = pse_tool_memory((size_t)found->addresses * sizeof *addresses);
    MPI_Count *large = pse_tool_memory((size_t)found->large * sizeof *large);
    MPI_Datatype *parts = pse_tool_memory((size_t)found->types * sizeof *parts);
#if MPI_VERSION >= 4
    PMPI_Type_get_contents_c(datatype, found->integers, found->addresses, found->large, found->types,
                             integers, addresses, large, parts);
#else
    PMPI_Type_get_contents(datatype, found->integers, found->addresses, found->types, integers, addresses,
                           parts);
#endif
    struct type_signature whole = join_parts(found, datatype, parts, integers, large);
    for (type_count i = 0; i < found->types; i++)
        free_part(&parts[i]);
    free(integers);
    free(addresses);
    free(large);
    free(parts);
    return whole;
}

static struct type_signature compute_signature(MPI_Datatype datatype)
{
    struct type_contents found = contents_of(datatype);
    if (found.combiner == MPI_COMBINER_NAMED || found.types == 0)
        return predefined_signature(datatype);
    return derived_signature(datatype, &found);
}

static struct type_signature signature_of_type(MPI_Datatype datatype)
{
    struct known_type *known = pse_handle_find(&pse_check_types, PSE_HANDLE(datatype));
    return known ? known->one : compute_signature(datatype);
}

/* Datatypes that the program has freed, as long as MPI doesn't give their handle to another. */
struct freed_type {
    struct pse_handle_node node;
    char where[PSE_CALL_SITE_TEXT];
};

static struct pse_handle_table freed_types;

_Thread_local const char *pse_check_routine = "";

static bool report_freed(MPI_Datatype datatype)
{
    static const char what[] = "a datatype is used after it was freed";
    const struct freed_type *freed = pse_handle_find(&freed_types, PSE_HANDLE(datatype));
    struct check_report report = {.length = 0};
    char where[PSE_CALL_SITE_TEXT];
    pse_check_pack_site(where);
    if (!freed || pse_check_was_reported(what, freed->where, where))
        return freed != NULL;
    pse_check_report_add(&report, "pse check: %s\n", what);
    pse_check_report_place(&report, pse_check_rank, pse_check_routine, "", where);
    pse_check_report_place(&report, pse_check_rank, "MPI_Type_free", "", freed->where);
    pse_check_report_print(&report,
                           "MPI_Type_free (mpi4py: datatype.Free()) after the last call that names it");
    return true;
}

struct type_signature pse_check_signature_of(MPI_Count count, MPI_Datatype datatype)
{
    struct known_type *known =
        datatype == MPI_DATATYPE_NULL ? NULL : pse_handle_find(&pse_check_types, PSE_HANDLE(datatype));
    if (datatype == MPI_DATATYPE_NULL || count < 0)
        return (struct type_signature){0};
    if (!known && report_freed(datatype))
        return (struct type_signature){0};
    if (!known) {
        known = pse_tool_memory(sizeof *known);
        known->one = compute_signature(datatype);
        pse_handle_add(&pse_check_types, PSE_HANDLE(datatype), known);
    }
    return repeat(known->one, (uint64_t)count);
}

static bool fits_all(struct type_signature signature)
{
    return !signature.given || signature.basic >> 16 == KIND_ANY;
}

bool pse_check_same_elements(struct type_signature a, struct type_signature b)
{
    if (fits_all(a) || fits_all(b))
        return !a.given || !b.given || a.bytes == b.bytes;
    return a.elements == b.elements && a.hash == b.hash;
}

bool pse_check_begins(struct type_signature message, struct type_signature buffer, struct type_signature item)
{
    if (fits_all(message) || fits_all(buffer) || !message.elements)
        return true;
    if (message.basic && buffer.basic)
        return message.basic == buffer.basic;
    if (!item.elements || message.elements % item.elements)
        return true; /* Part of an item: not told by hashes. */
    return pse_check_same_elements(message, repeat(item, message.elements / item.elements));
}

void pse_check_signature_text(struct type_signature signature, char *text, size_t room)
{
    static const char *const kinds[] = {"",
                                        "bytes",
                                        "integers",
                                        "unsigned integers",
                                        "floating-point numbers",
                                        "complex numbers",
                                        "characters",
                                        "logical values",
                                        "elements"};
    uint32_t kind = signature.basic >> 16, size = signature.basic & 0xffff;
    unsigned long long n = signature.elements;
    if (!signature.basic)
        snprintf(text, room, "%llu elements of several types (%llu bytes)", n,
                 (unsigned long long)signature.bytes);
    else if (kind == KIND_ANY)
        snprintf(text, room, "%llu bytes", n);
    else
        snprintf(text, room, "%llu %s of %u bytes", n, kinds[kind], size);
}

void pse_check_type_given(MPI_Datatype datatype)
{
    free(pse_handle_take(&freed_types, PSE_HANDLE(datatype)));
}

void pse_check_type_made(MPI_Datatype datatype, const char *routine)
{
    free(pse_handle_take(&pse_check_types, PSE_HANDLE(datatype))); /* A handle that is used again. */
    pse_check_type_given(datatype);
    struct known_type *made = pse_tool_memory(sizeof *made);
    made->one = compute_signature(datatype);
    snprintf(made->routine, sizeof made->routine, "%s", routine);
    pse_check_pack_site(made->where);
    pse_handle_add(&pse_check_types, PSE_HANDLE(datatype), made);
}

void pse_check_type_freed(MPI_Datatype datatype)
{
    struct freed_type *freed = pse_tool_memory(sizeof *freed);
    free(pse_handle_take(&pse_check_types, PSE_HANDLE(datatype)));
    pse_check_type_given(datatype);
    pse_check_pack_site(freed->where);
    pse_handle_add(&freed_types, PSE_HANDLE(datatype), freed);
}
