/* What a tool is given: arguments, words, services of other tools, the layer below.
 *
 * Tools start from the bottom up, unless one asks for a service that nobody has published: then those that
 * have not started yet are started, until one gives it.  A tool that is asked for something while it waits
 * itself, and publishes it later, is in a circle.
 */

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

struct service {
    struct pse_layer *layer;
    char *name, *signature;
    pse_function function;
    struct service *next;
};

static struct service *services; /* the newest first; never removed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { ARGUMENTS = 64 }; /* of so many is noted whether the tool asks for them */

static const char *argument(void *self, const char *key)
{
    struct pse_layer *layer = self;
    const struct pse_spec *spec = layer->spec;
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
    struct pse_layer *layer = self;
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
    const int rank = pse_rank(), room = (int)sizeof text - 1;
    const char *name = ((struct pse_layer *)self)->spec->name;
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
    const int number = pse_find(routine);
    return number < 0 ? NULL : pse_layer_below(self, number);
}

/* Services
 * ----------------------------------------------------------------------------------------------------------
 */

static const struct service *find_service(const char *name, const char *signature)
{
    pthread_mutex_lock(&lock);
    const struct service *service = services;
    while (service && (service->layer->state == PSE_OUT || strcmp(service->name, name) != 0 ||
                       strcmp(service->signature, signature) != 0))
        service = service->next;
    pthread_mutex_unlock(&lock);
    return service;
}

/* Somebody wished for this while its publisher was waiting. */
static void look_for_circle(struct pse_layer *layer, const char *name)
{
    for (int i = 0; i < pse_layers; i++) {
        const struct pse_layer *other = pse_stack[i];
        if (other != layer && other->wish && strcmp(other->wish, name) == 0)
            fail(layer,
                 "it and `%s` (line %d) wait for each other: a cycle of services; `%s` asks for `%s`, which "
                 "`%s` "
                 "publishes only after it has got another one",
                 other->spec->name, other->spec->line, other->spec->name, name, layer->spec->name);
    }
}

static int publish(void *self, const char *name, const char *signature, pse_function function)
{
    struct pse_layer *layer = self;
    if (find_service(name, signature))
        return 1;
    struct service *service = malloc(sizeof *service);
    if (!service)
        return 1;
    *service = (struct service){layer, strdup(name), strdup(signature), function, NULL};
    pthread_mutex_lock(&lock);
    service->next = services;
    services = service;
    pthread_mutex_unlock(&lock);
    look_for_circle(layer, name);
    return 0;
}

static pse_function subscribe(void *self, const char *name, const char *signature)
{
    struct pse_layer *layer = self;
    const struct service *service = find_service(name, signature);
    for (int i = pse_layers - 1; !service && i >= 0; i--)
        if (pse_stack[i]->state == PSE_LOADED) {
            pse_begin_layer(pse_stack[i]);
            service = find_service(name, signature);
        }
    if (service)
        return service->function;
    free(layer->wish);
    layer->wish = strdup(name);
    return NULL;
}

void pse_print_services(const struct pse_layer *layer, FILE *to)
{
    for (const struct service *service = services; service; service = service->next)
        if (service->layer == layer)
            fprintf(to, "service\t%s\t%s\n", service->name, service->signature);
}

/* Start
 * -------------------------------------------------------------------------------------------------------------
 */

static const struct service *other_signature(const char *name)
{
    const struct service *service = services;
    while (service && strcmp(service->name, name) != 0)
        service = service->next;
    return service;
}

/* What the tool said of its refusal, and what the stack knows about it. */
static const char *explain(const struct pse_layer *layer)
{
    static char words[1024];
    int length = snprintf(words, sizeof words, "%s", layer->reason ? layer->reason : "it refuses to start");
    if (!layer->wish || length >= (int)sizeof words)
        return words;
    const struct service *other = other_signature(layer->wish);
    length +=
        snprintf(words + length, sizeof words - (size_t)length, "; it asked for the service `%s`, which %s",
                 layer->wish, other ? "is published with another signature" : "no tool has published");
    for (int i = 0; i < pse_layers && length < (int)sizeof words; i++)
        if (pse_stack[i] != layer && pse_stack[i]->state == PSE_STARTING)
            length += snprintf(words + length, sizeof words - (size_t)length,
                               ", while `%s` (line %d) waits for it: is that a cycle of services?",
                               pse_stack[i]->spec->name, pse_stack[i]->spec->line);
    return words;
}

static const char *start(struct pse_layer *layer)
{
    struct pse_module module;
    const pse_function found =
        pse_module_open(&module, layer->map) ? pse_module_find(&module, "pse_tool_start") : NULL;
    int refused = found ? ((int (*)(const struct pse_tools *))found)(&layer->tools) : 0;
    return refused || layer->reason ? explain(layer) : NULL;
}

const char *pse_start_layer(struct pse_layer *layer)
{
    layer->state = PSE_STARTING;
    const char *why = pse_guarded(layer, "pse_tool_start", start);
    layer->state = PSE_STARTED;
    return why;
}

/* A misspelt argument would go unnoticed. */
void pse_warn_of_unasked(const struct pse_layer *layer)
{
    const struct pse_spec *spec = layer->spec;
    for (int i = 0; i < spec->keys.count && i < ARGUMENTS; i++)
        if (!(layer->asked >> i & 1))
            pse_warn(true, "%s:%d: tool `%s` has not asked for the argument `%s`: is it misspelt?",
                     spec->file, spec->line, spec->name, spec->keys.word[i]);
}

void pse_offer(struct pse_layer *layer)
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
                                      .keep = pse_keep,
                                      .drop = pse_drop,
                                      .ring = pse_open_ring};
}
