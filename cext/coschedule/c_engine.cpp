#include "c_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "abi_events.h"
#include "engine.hpp"
#include "monitoring/monitor_files.hpp"
#include "monitoring/monitor_settings.hpp"
#include "reports/deadlock_text.hpp"

using namespace pse::coschedule;

struct pse_bcs_end {
    Engine engine;
    MonitorSettings monitors = MonitorSettings::of_environment();
    template <class... Arguments> explicit pse_bcs_end(Arguments... arguments) : engine(arguments...)
    {
    }
};

namespace
{

template <class... Arguments> pse_bcs_end *make(char *reason, size_t room, Arguments... arguments)
{
    try {
        return new pse_bcs_end(arguments...);
    } catch (const std::system_error &error) {
        std::snprintf(reason, room, "%s", error.what());
        return nullptr;
    }
}

Context context_of(const pse_bcs_envelope &given)
{
    return {given.context, given.label, given.synchronous};
}

std::string failure_of(const Segment &segment, const char *const *labels)
{
    const Shared &shared = segment.shared();
    uint32_t failure = shared.failure.load();
    std::string who = shared.culprit == none ? "a rank" : "rank " + std::to_string(shared.culprit);
    if (failure == PSE_BCS_FAILURE_SILENT)
        return "the node of " + who + " has not answered for 10 s, in slice " + std::to_string(shared.slice);
    if (failure == PSE_BCS_FAILURE_STOPPED)
        return who + " has stood still for 10 s, in slice " + std::to_string(shared.slice) +
               ": its process is stopped (SIGSTOP)";
    if (failure == PSE_BCS_FAILURE_FULL)
        return who + " has " + std::to_string(segment.operations()) +
               " operations under way, the most that there may be; wait for some of them";
    if (failure == PSE_BCS_FAILURE_DEAD)
        return who + " ended and did not call MPI_Finalize, in slice " + std::to_string(shared.slice);
    return deadlock_text(segment, labels);
}

} // namespace

pse_bcs_end *pse_bcs_end_make(const struct pse_bcs_settings *settings, struct pse_bcs_files *files,
                              char *reason, size_t room)
{
    std::vector<uint32_t> nodes(settings->nodes, settings->nodes + settings->ranks);
    Options options{};
    options.ranks = settings->ranks;
    options.table = settings->table;
    options.strict = settings->strict;
    options.ordered = settings->ordered;
    options.slice = settings->slice;
    options.chunk = settings->slice * PSE_BCS_BYTES_PER_NS;
    options.adapted = 1;
    options.nodes = *std::max_element(nodes.begin(), nodes.end()) + 1;
    options.leader = settings->leader;
    options.node = nodes[settings->leader];
    const MonitorSettings monitors = MonitorSettings::of_environment();
    options.monitored = monitors.slices.empty() ? 0 : monitors.kept;
    options.first_monitored = monitors.first;
    options.last_monitored = monitors.last;
    pse_bcs_end *end = make<const Options &, const std::vector<uint32_t> &, const pse_bcs_match *>(
        reason, room, options, nodes, nullptr);
    if (end)
        *files = {getpid(), end->engine.segment_file(), end->engine.bells_file()};
    return end;
}

pse_bcs_end *pse_bcs_end_open(const struct pse_bcs_files *files, uint32_t rank, char *reason, size_t room)
{
    return make(reason, room, static_cast<pid_t>(files->process), static_cast<int>(files->segment),
                static_cast<int>(files->bells), rank);
}

void pse_bcs_end_endpoint(const pse_bcs_end *end, uint8_t *endpoint)
{
    std::memcpy(endpoint, end->engine.endpoint().data(), PSE_BCS_ENDPOINT);
}

bool pse_bcs_end_connect(pse_bcs_end *end, const uint8_t *endpoints, size_t nodes, char *reason, size_t room)
{
    try {
        end->engine.connect({reinterpret_cast<const char *>(endpoints), nodes * PSE_BCS_ENDPOINT});
        return true;
    } catch (const std::system_error &error) {
        std::snprintf(reason, room, "%s", error.what());
        return false;
    }
}

int pse_bcs_end_try_reading(pse_bcs_end *end)
{
    return end->engine.try_reading();
}

uint64_t pse_bcs_end_shortest_slice(const pse_bcs_end *end)
{
    return end->engine.shortest_slice();
}

bool pse_bcs_end_has_slowed(const pse_bcs_end *end, char *text, size_t room)
{
    std::string said = end->engine.pace_text();
    std::snprintf(text, room, "%s", said.c_str());
    return !said.empty();
}

bool pse_bcs_end_trace(pse_bcs_end *end, char *reason, size_t room)
{
    Engine &engine = end->engine;
    std::vector<uint32_t> ranks(engine.segment().options().ranks);
    std::iota(ranks.begin(), ranks.end(), 0);
    try {
        if (trace_directory())
            engine.trace({PSE_BCS_EVENTS, engine.me(), 0, 0, ranks, {}});
        return true;
    } catch (const std::system_error &error) {
        std::snprintf(reason, room, "%s", error.what());
        return false;
    }
}

void pse_bcs_end_begin(pse_bcs_end *end)
{
    end->engine.begin();
    if (end->monitors.is_monitored(end->engine.me()))
        end->engine.monitor().begin(end->monitors, pse_clock());
}

void pse_bcs_end_close(pse_bcs_end *end)
{
    end->engine.leave();
    delete end;
}

uint32_t pse_bcs_end_send(pse_bcs_end *end, const void *data, uint64_t bytes,
                          const struct pse_bcs_envelope *to)
{
    return end->engine.send(data, bytes, to->peer, to->tag, to->blocking, context_of(*to));
}

uint32_t pse_bcs_end_receive(pse_bcs_end *end, void *data, uint64_t bytes,
                             const struct pse_bcs_envelope *from)
{
    return end->engine.receive(data, bytes, from->peer, from->tag, from->blocking, context_of(*from));
}

uint32_t pse_bcs_end_probe(pse_bcs_end *end, const struct pse_bcs_envelope *from)
{
    return end->engine.probe(from->peer, from->tag, context_of(*from));
}

enum pse_bcs_outcome pse_bcs_end_wait(pse_bcs_end *end, const uint32_t *operations, size_t count,
                                      enum pse_bcs_wait mode, size_t *which)
{
    constexpr Wait modes[] = {Wait::all, Wait::one, Wait::test};
    pse_bcs_outcome outcome = end->engine.wait({operations, operations + count}, modes[mode]);
    if (mode == PSE_BCS_FOR_ONE && outcome == PSE_BCS_WAIT_COMPLETE)
        *which = end->engine.answer();
    return outcome;
}

bool pse_bcs_end_is_done(pse_bcs_end *end, uint32_t operation)
{
    return end->engine.is_done(operation);
}

struct pse_bcs_received pse_bcs_end_received(pse_bcs_end *end, uint32_t operation)
{
    Status status = end->engine.status(operation);
    return {status.source, status.tag, status.bytes, status.truncated};
}

void pse_bcs_end_release(pse_bcs_end *end, uint32_t operation)
{
    end->engine.release(operation);
}

bool pse_bcs_end_cancel(pse_bcs_end *end, uint32_t operation)
{
    return end->engine.cancel(operation);
}

void pse_bcs_end_look_after(pse_bcs_end *end, uint64_t time)
{
    end->engine.look_after(time);
}

bool pse_bcs_end_is_observed(const pse_bcs_end *end)
{
    return end->engine.is_observed();
}

void pse_bcs_end_say_place(pse_bcs_end *end, const char *place)
{
    end->engine.enter_call(PSE_BCS_NONE, place);
}

void pse_bcs_end_go_away(pse_bcs_end *end)
{
    end->engine.go_away();
}

void pse_bcs_end_come_back(pse_bcs_end *end)
{
    end->engine.come_back();
}

bool pse_bcs_check_monitors(char *reason, size_t room)
{
    try {
        MonitorSettings::of_environment();
        return true;
    } catch (const std::invalid_argument &error) {
        std::snprintf(reason, room, "%s", error.what());
        return false;
    }
}

bool pse_bcs_end_check_metrics(const pse_bcs_end *end, bool (*is_routine)(const char *name), char *reason,
                               size_t room)
{
    for (const std::string &name : end->monitors.metrics)
        if (name != "computation" && name != "communication" && !is_routine(name.c_str())) {
            std::snprintf(reason, room, PSE_BCS_MMDS_METRICS " names '%s', and MPI has no MPI_%s",
                          name.c_str(), name.c_str());
            return false;
        }
    return true;
}

uint64_t pse_bcs_end_enter(pse_bcs_end *end)
{
    return end->engine.monitor().enter() ? pse_clock() : 0;
}

uint32_t pse_bcs_end_routine(pse_bcs_end *end, const char *name)
{
    return end->engine.monitor().routine(name);
}

void pse_bcs_end_note(pse_bcs_end *end, const struct pse_bcs_noted *call)
{
    end->engine.monitor().add(call->routine, call->bytes, call->blocking, call->entered, pse_clock());
}

bool pse_bcs_end_write_monitors(pse_bcs_end *end, char *reason, size_t room)
{
    constexpr uint32_t only_layer = 0;
    Engine &engine = end->engine;
    const MonitorSettings &settings = end->monitors;
    engine.monitor().end(pse_clock());
    try {
        if (engine.monitor().is_on())
            write_report(settings.reports, only_layer, engine.me(), engine.monitor());
        if (!settings.slices.empty() && engine.is_leader())
            write_slices(settings.slices, only_layer, engine.segment());
        return true;
    } catch (const std::system_error &error) {
        std::snprintf(reason, room, "%s", error.what());
        return false;
    }
}

bool pse_bcs_end_is_first_to_tell(pse_bcs_end *end)
{
    return !end->engine.segment().shared().told.exchange(1);
}

enum pse_bcs_failure pse_bcs_end_failure(pse_bcs_end *end, const char *const *labels, char *text, size_t room)
{
    std::snprintf(text, room, "%s", failure_of(end->engine.segment(), labels).c_str());
    return static_cast<pse_bcs_failure>(end->engine.segment().shared().failure.load());
}
