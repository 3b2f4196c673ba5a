/* Tables for tools, services by name, and starts. */
#include "layers/services.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/report.h"
#include "elf/loaded_elf.h"
#include "layers/crash_guard.h"
#include "layers/refusal.h"
#include "layers/storage.h"
#include "mpi/routine_table.h"

struct tool_service {
    struct tool_layer *layer;
    char *name, *signature;
    pse_function function;
    struct tool_service *next;
};

static struct tool_service *services; /* the newest first; never removed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { ARGUMENTS = 64 }; /* of so many is noted whether the tool asks for them */

static const char *argument(void *self, const char *key)
{
    struct tool_layer *layer = self;
    const struct tool_spec *spec = layer->spec;
    int i = 0;
    while (i < spec->keys.count && strcmp(spec->keys.word[i], key) != 0)
        i++;
    if (i == spec->keys.count)
        return NULL;
    layer->asked |= i < ARGUMENTS ? 1ull << i : 0;
    return spec->values.word[i];
}

static void fail(void *self, const char *format, ...)
{
    struct tool_layer *layer = self;
    va_list rest;
    va_start(rest, format);
    free(layer->reason);
    if (vasprintf(&layer->reason, format, rest) < 0)
        layer->reason = NULL;
    va_end(rest);
}

static void say(void *self, const char *format, ...)
{
    char text[2048];
    const int rank = pse_toolstack_rank(), room = (int)sizeof text - 1;
    const char *name = ((struct tool_layer *)self)->spec->name;
    int length = rank < 0 ? snprintf(text, sizeof text, "%s: ", name)
                          : snprintf(text, sizeof text, "%s, rank %d: ", name, rank);
    length = length < room ? length : room - 1;
    va_list rest;
    va_start(rest, format);
    length += vsnprintf(text + length, (size_t)(room - length), format, rest);
    va_end(rest);
    length = length < room ? length : room - 1;
    text[length++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

static pse_function below(void *self, const char *routine)
{
    const int number = pse_toolstack_find(routine);
    return number < 0 ? NULL : pse_toolstack_layer_below(self, number);
}

/* Services
 * ----------------------------------------------------------------------------------------------------------
 */

static const struct tool_service *find_service(const char *name, const char *signature)
{
    pthread_mutex_lock(&lock);
    const struct tool_service *service = services;
    while (service && (service->layer->state == PSE_OUT || strcmp(service->name, name) != 0 ||
                       strcmp(service->signature, signature) != 0))
        service = service->next;
    pthread_mutex_unlock(&lock);
    return service;
}

/* Somebody wished for this while its publisher was waiting. */
static void look_for_circle(struct tool_layer *layer, const char *name)
{
    for (int i = 0; i < pse_toolstack_layer_count; i++) {
        const struct tool_layer *other = pse_toolstack_layers[i];
        if (other != layer && other->wish && strcmp(other->wish, name) == 0)
            fail(layer,
                 "it and `%s` (line %d) wait for each other: a cycle of services; `%s` asks for `%s`, which "
                 "`%s` "
                 "publishes only after it has got another one",
                 other->spec->name, other->spec->line, other->spec->name, name, layer->spec->name);
    }
}

/* NULL: there is no memory for it. */
static struct tool_service *new_service(struct tool_layer *layer, const char *name, const char *signature,
                                        pse_function function)
{
    struct tool_service *made = malloc(sizeof *made);
    char *own_name = strdup(name), *own_signature = strdup(signature);
    if (made && own_name && own_signature) {
        *made = (struct tool_service){layer, own_name, own_signature, function, NULL};
        return made;
    }
    free(made), free(own_name), free(own_signature);
    return NULL;
}

static int publish(void *self, const char *name, const char *signature, pse_function function)
{
    struct tool_layer *layer = self;
    if (find_service(name, signature))
        return 1;
    struct tool_service *service = new_service(layer, name, signature, function);
    if (!service)
        return 1;
    pthread_mutex_lock(&lock);
    service->next = services;
    services = service;
    pthread_mutex_unlock(&lock);
    look_for_circle(layer, name);
    return 0;
}

static pse_function subscribe(void *self, const char *name, const char *signature)
{
    struct tool_layer *layer = self;
    const struct tool_service *service = find_service(name, signature);
    for (int i = pse_toolstack_layer_count - 1; !service && i >= 0; i--)
        if (pse_toolstack_layers[i]->state == PSE_LOADED) {
            pse_toolstack_start_layer(pse_toolstack_layers[i]);
            service = find_service(name, signature);
        }
    if (service)
        return service->function;
    free(layer->wish);
    layer->wish = strdup(name);
    return NULL;
}

void pse_toolstack_print_services(const struct tool_layer *layer, FILE *to)
{
    for (const struct tool_service *service = services; service; service = service->next)
        if (service->layer == layer)
            fprintf(to, "service\t%s\t%s\n", service->name, service->signature);
}

/* Start
 * -------------------------------------------------------------------------------------------------------------
 */

static const struct tool_service *other_signature(const char *name)
{
    const struct tool_service *service = services;
    while (service && strcmp(service->name, name) != 0)
        service = service->next;
    return service;
}

/* What the tool said of its refusal, and what the stack knows about it. */
static const char *explain(const struct tool_layer *layer)
{
    static char words[1024];
    int length = snprintf(words, sizeof words, "%s", layer->reason ? layer->reason : "it refuses to start");
    if (!layer->wish || length >= (int)sizeof words)
        return words;
    const struct tool_service *other = other_signature(layer->wish);
    length +=
        snprintf(words + length, sizeof words - (size_t)length, "; it asked for the service `%s`, which %s",
                 layer->wish, other ? "is published with another signature" : "no tool has published");
    for (int i = 0; i < pse_toolstack_layer_count && length < (int)sizeof words; i++)
        if (pse_toolstack_layers[i] != layer && pse_toolstack_layers[i]->state == PSE_STARTING)
            length += snprintf(words + length, sizeof words - (size_t)length,
                               ", while `%s` (line %d) waits for it: is that a cycle of services?",
                               pse_toolstack_layers[i]->spec->name, pse_toolstack_layers[i]->spec->line);
    return words;
}

static const char *start(struct tool_layer *layer)
{
    struct loaded_elf elf;
    const pse_function found =
        pse_toolstack_view_elf(&elf, layer->map) ? pse_toolstack_elf_find(&elf, "pse_tool_start") : NULL;
    int refused = found ? ((int (*)(const struct pse_tools *))found)(&layer->tools) : 0;
    return refused || layer->reason ? explain(layer) : NULL;
}

void pse_toolstack_start_layer(struct tool_layer *layer)
{
    layer->state = PSE_STARTING;
    const char *why = pse_toolstack_guarded(layer, "pse_tool_start", start);
    layer->state = PSE_STARTED;
    if (why)
        pse_toolstack_refuse(layer, false, why);
}

void pse_toolstack_warn_of_unasked(const struct tool_layer *layer)
{
    const struct tool_spec *spec = layer->spec;
    for (int i = 0; i < spec->keys.count && i < ARGUMENTS; i++)
        if (!(layer->asked >> i & 1))
            pse_toolstack_warn(true, "%s: tool `%s` has not asked for the argument `%s`: is it misspelt?",
                               spec->place, spec->name, spec->keys.word[i]);
}

void pse_toolstack_offer(struct tool_layer *layer)
{
    layer->tools = (struct pse_tools){.version = PSE_TOOLS_VERSION,
                                      .layer = -1, /* above all that are loaded */
                                      .name = layer->spec->name,
                                      .self = layer,
                                      .argument = argument,
                                      .fail = fail,
                                      .say = say,
                                      .publish = publish,
                                      .subscribe = subscribe,
                                      .below = below,
                                      .keep = pse_toolstack_keep,
                                      .drop = pse_toolstack_drop,
                                      .ring = pse_toolstack_open_ring};
}
