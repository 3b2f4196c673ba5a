#include "c_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "engine.hpp"

using namespace pse::coschedule;

struct pse_bcs_end {
    Engine engine;
    template <class... Arguments> explicit pse_bcs_end(Arguments... arguments) : engine(arguments...)
    {
    }
};

namespace
{

constexpr size_t shown = 8; // The most ranks whose waits a message lists.

template <class... Arguments> pse_bcs_end *make(char *reason, size_t room, Arguments... arguments)
{
    try {
        return new pse_bcs_end(arguments...);
    } catch (const std::system_error &error) {
        std::snprintf(reason, room, "%s", error.what());
        return nullptr;
    }
}

// Post a descriptor, again as long as the wait for a free one is interrupted.
template <class Operation> uint32_t persist(const Engine &engine, Operation operation)
{
    uint32_t index;
    do
        index = operation();
    while (index == none && !engine.segment().shared().failure.load());
    return index;
}

Context context_of(const pse_bcs_envelope &given)
{
    return {given.context, given.label, given.synchronous};
}

std::string operation_of(const Descriptor &one, const char *const *labels)
{
    if (one.label)
        return labels[one.label];
    const char *verb = one.kind == PSE_BCS_KIND_SEND      ? "Send to "
                       : one.kind == PSE_BCS_KIND_RECEIVE ? "Recv from "
                                                          : "Probe from ";
    std::string who = one.peer == any ? "any rank" : "rank " + std::to_string(one.peer);
    return verb + who + (one.tag == any ? "" : " with tag " + std::to_string(one.tag));
}

// What each rank waits for: the first of its operations that are under way.
std::map<uint32_t, std::string> waits_of(const Segment &segment, const char *const *labels)
{
    std::map<uint32_t, std::string> waits;
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++)
        if (segment.rank(rank).waits == Wait::room)
            waits[rank] =
                "a call that has no room (its operations under way fill the table: wait for some of them)";
    std::map<uint32_t, uint64_t> least;
    for (uint32_t index = 0; index < segment.options().ranks * segment.options().table; index++) {
        const Descriptor &one = segment.descriptor(index);
        bool under_way = (one.state == State::posted || one.state == State::exchanged) && !one.sent;
        auto known = least.find(one.owner);
        if (!under_way || segment.rank(one.owner).waits == Wait::room ||
            (known != least.end() && known->second < one.sequence))
            continue;
        least[one.owner] = one.sequence;
        waits[one.owner] = operation_of(one, labels);
    }
    return waits;
}

std::string deadlock(const Segment &segment, const char *const *labels)
{
    std::map<uint32_t, std::string> waits = waits_of(segment, labels);
    std::string text = "deadlock: ";
    size_t count = 0, last = std::min(waits.size(), shown + 1);
    for (const auto &[rank, operation] : waits) {
        if (++count > shown)
            break;
        text += count == 1 ? "" : count == last ? " and " : ", ";
        text += "rank " + std::to_string(rank) + " in " + operation;
    }
    if (waits.size() > shown)
        text += " and " + std::to_string(waits.size() - shown) + " more ranks";
    return text + (segment.shared().failure.load() == PSE_BCS_FAILURE_LEFT ? ", and other ranks have left"
                                                                           : ", and no rank can go on");
}

std::string failure_of(const Segment &segment, const char *const *labels)
{
    const Shared &shared = segment.shared();
    uint32_t failure = shared.failure.load();
    std::string who = shared.culprit == none ? "a rank" : "rank " + std::to_string(shared.culprit);
    if (failure == PSE_BCS_FAILURE_DEAD)
        return who + " ended and did not call MPI_Finalize, in slice " + std::to_string(shared.slice);
    return deadlock(segment, labels);
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

void pse_bcs_end_begin(pse_bcs_end *end)
{
    end->engine.begin();
}

void pse_bcs_end_close(pse_bcs_end *end)
{
    end->engine.leave();
    delete end;
}

uint32_t pse_bcs_end_send(pse_bcs_end *end, const void *data, uint64_t bytes,
                          const struct pse_bcs_envelope *to)
{
    return persist(end->engine, [&] {
        return end->engine.send(data, bytes, to->peer, to->tag, to->blocking, context_of(*to));
    });
}

uint32_t pse_bcs_end_receive(pse_bcs_end *end, void *data, uint64_t bytes,
                             const struct pse_bcs_envelope *from)
{
    return persist(end->engine, [&] {
        return end->engine.receive(data, bytes, from->peer, from->tag, from->blocking, context_of(*from));
    });
}

uint32_t pse_bcs_end_probe(pse_bcs_end *end, const struct pse_bcs_envelope *from)
{
    return persist(end->engine, [&] { return end->engine.probe(from->peer, from->tag, context_of(*from)); });
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

void pse_bcs_end_go_away(pse_bcs_end *end)
{
    end->engine.go_away();
}

void pse_bcs_end_come_back(pse_bcs_end *end)
{
    end->engine.come_back();
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
