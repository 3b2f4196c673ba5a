#include "tracing/layer_trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "abi_environment.h"
#include "recorder.h"

namespace pse::coschedule
{
namespace
{

// Above the numbers that other writers of a rank's events give.
constexpr uint32_t first_routine = 1U << 20, first_communicator = 1U << 20, first_request = 1U << 30;

// The file of a process, for all its layers: its records stay in the order of time.
class Writer
{
  public:
    static Writer &of_process()
    {
        static Writer writer;
        return writer;
    }
    ~Writer()
    {
        if (recorder_ && owner_ == getpid())
            pse_recorder_close(recorder_);
    }
    void open(const TracePlace &place)
    {
        std::lock_guard guard(mutex_);
        if (recorder_)
            return;
        const char *directory = trace_directory();
        std::filesystem::create_directories(directory);
        int error = pse_recorder_open_part(&head_, directory, place.rank, place.part);
        if (error)
            throw std::system_error(-error, std::generic_category(), directory);
        recorder_ = &head_;
        owner_ = getpid();
    }
    uint64_t put(uint16_t type, uint16_t flags, uint64_t a, uint64_t b, uint64_t c)
    {
        std::lock_guard guard(mutex_);
        uint64_t time = pse_clock();
        pse_recorder_add_at(recorder_, time, type, flags, PSE_NONE, 0, a, b, c);
        return time;
    }
    // Once for each thing of a kind.
    void name(uint16_t kind, uint32_t number, const std::string &name)
    {
        std::lock_guard guard(mutex_);
        if (named_.insert({kind, number}).second)
            pse_recorder_text(recorder_, kind, number, name.c_str());
    }

  private:
    std::mutex mutex_;
    pse_recorder head_ = {};
    pse_recorder *recorder_ = nullptr; // NULL: not open.
    pid_t owner_ = 0;
    std::set<std::pair<uint16_t, uint32_t>> named_;
};

uint64_t put(uint16_t type, uint16_t flags, uint64_t a, uint64_t b, uint64_t c)
{
    return Writer::of_process().put(type, flags, a, b, c);
}

uint16_t collective_of(pse_bcs_collective operation)
{
    constexpr uint16_t numbers[] = {
        PSE_COLLECTIVE_BARRIER, PSE_COLLECTIVE_BCAST,  PSE_COLLECTIVE_REDUCE,    PSE_COLLECTIVE_ALLREDUCE,
        PSE_COLLECTIVE_SCATTER, PSE_COLLECTIVE_GATHER, PSE_COLLECTIVE_ALLGATHER, PSE_COLLECTIVE_ALLTOALL,
        PSE_COLLECTIVE_SCAN,    PSE_COLLECTIVE_EXSCAN,
    };
    return numbers[operation];
}

// Of all pieces; none: the buffer is not divided.
uint64_t sum_of(const std::vector<Piece> &pieces)
{
    uint64_t sum = 0;
    for (const Piece &piece : pieces)
        sum += piece.bytes;
    return sum;
}

// A rank or tag that was asked for, or none.
uint32_t asked(int32_t number)
{
    return number == any ? PSE_NONE : static_cast<uint32_t>(number);
}

} // namespace

const char *trace_directory()
{
    const char *directory = std::getenv(PSE_TRACE_VARIABLE);
    return directory && *directory ? directory : nullptr;
}

LayerTrace::LayerTrace(const TracePlace &place, uint32_t me)
    : me_(me), ranks_(static_cast<uint32_t>(place.ranks.size())), number_(first_communicator + place.number),
      routines_(place.routines)
{
    Writer::of_process().open(place);
    name_communicator(place);
}

void LayerTrace::name_communicator(const TracePlace &place) const
{
    auto rank = [&](size_t index) { return index < ranks_ ? place.ranks[index] : PSE_NONE; };
    std::string leader = std::to_string(rank(0)) + "." + std::to_string(place.leaders);
    std::string name = routines_.empty() ? "layer of the tool bcs" : "pse.bcs.Comm " + leader;
    Writer::of_process().name(PSE_TEXT_COMMUNICATOR, number_, name);
    put(PSE_EVENT_MPI_COMMUNICATOR, 0, number_, pse_pair(rank(0), first_communicator + place.leaders),
        pse_pair(ranks_, me_));
    for (uint32_t first = 0; me_ == 0 && first < ranks_; first += 4)
        put(PSE_EVENT_MPI_COMMUNICATOR_RANKS, 0, pse_pair(number_, first),
            pse_pair(rank(first), rank(first + 1)), pse_pair(rank(first + 2), rank(first + 3)));
}

void LayerTrace::enter(uint32_t routine)
{
    if (routines_.empty())
        return;
    routine_ = first_routine + routine;
    Writer::of_process().name(PSE_TEXT_REGION, routine_, routines_.at(routine));
    entered_ = put(PSE_EVENT_REGION_ENTER, 0, routine_, 0, 0);
}

void LayerTrace::leave()
{
    if (!routines_.empty())
        put(PSE_EVENT_REGION_LEAVE, 0, routine_, entered_, 0);
}

void LayerTrace::expect(const std::vector<Piece> &pieces, const std::vector<Piece> &targets)
{
    expected_ = {sum_of(pieces), sum_of(targets)};
}

// What a collective operation sends and receives here.
LayerTrace::Bytes LayerTrace::bytes_of(const Descriptor &one) const
{
    bool is_root = one.peer < 0 || static_cast<uint32_t>(one.peer) == me_;
    switch (one.operation) {
    case PSE_BCS_BARRIER:
        return {0, 0};
    case PSE_BCS_BCAST:
        return {is_root ? one.bytes * (ranks_ - 1) : 0, is_root ? 0 : one.bytes};
    case PSE_BCS_REDUCE:
    case PSE_BCS_ALLREDUCE:
    case PSE_BCS_SCAN:
    case PSE_BCS_EXSCAN:
        return {one.bytes, is_root ? one.bytes : 0};
    default:
        return {expected_.sent ? expected_.sent : one.bytes, expected_.received};
    }
}

// The communicator, and the request; 0: a blocking call.
uint64_t LayerTrace::on(const Descriptor &one) const
{
    return pse_pair(number_, one.blocking ? 0 : first_request + static_cast<uint32_t>(one.sequence));
}

void LayerTrace::post(const Descriptor &one)
{
    if (routines_.empty() || one.kind == PSE_BCS_KIND_PROBE)
        return;
    if (one.kind == PSE_BCS_KIND_SEND)
        put(PSE_EVENT_MPI_SEND, 0, one.bytes, pse_pair(asked(one.peer), asked(one.tag)), on(one));
    else if (one.kind == PSE_BCS_KIND_COLLECTIVE) {
        put(PSE_EVENT_MPI_COLLECTIVE_BEGIN, collective_of(one.operation), asked(one.peer), 0, on(one));
        moved_[one.sequence] = bytes_of(one);
    } else if (!one.blocking)
        put(PSE_EVENT_MPI_RECEIVE_POST, 0, one.bytes, pse_pair(asked(one.peer), asked(one.tag)), on(one));
}

void LayerTrace::complete(const Descriptor &one)
{
    if (one.kind != PSE_BCS_KIND_SEND)
        add_match(one);
    if (routines_.empty())
        return;
    uint64_t whom = pse_pair(asked(one.peer), asked(one.tag));
    if (one.kind == PSE_BCS_KIND_COLLECTIVE) {
        Bytes moved = moved_[one.sequence];
        moved_.erase(one.sequence);
        put(PSE_EVENT_MPI_COLLECTIVE_END, collective_of(one.operation), moved.sent, moved.received, on(one));
    } else if (one.kind == PSE_BCS_KIND_RECEIVE)
        put(PSE_EVENT_MPI_RECEIVE, 0, one.bytes, whom, on(one));
    else if (one.kind == PSE_BCS_KIND_PROBE)
        put(PSE_EVENT_MPI_PROBE, 0, one.bytes, whom, number_);
    else if (!one.blocking)
        put(PSE_EVENT_MPI_SEND_COMPLETE, 0, 0, 0, on(one));
}

void LayerTrace::add_match(const Descriptor &one) const
{
    if (!one.matched)
        return;
    uint16_t flags = one.kind == PSE_BCS_KIND_COLLECTIVE ? 1 : one.kind == PSE_BCS_KIND_SEND ? 2 : 0;
    put(PSE_EVENT_SLICE_MATCH, flags, pse_pair(static_cast<uint32_t>(one.slice), asked(one.peer)),
        one.matched, on(one));
}

void LayerTrace::add(const pse_bcs_slice &slice)
{
    auto exchange = static_cast<uint32_t>(std::min<uint64_t>(slice.gtdem, UINT32_MAX));
    put(PSE_EVENT_TIME_SLICE, static_cast<uint16_t>(slice.timed),
        pse_pair(static_cast<uint32_t>(slice.slice), number_), slice.begin,
        pse_pair(exchange, slice.np2pmsm + slice.ncollmsm));
}

} // namespace pse::coschedule
