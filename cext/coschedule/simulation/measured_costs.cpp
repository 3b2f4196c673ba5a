#include "measured_costs.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"
#include "monitoring/monitor.hpp"
#include "nodes/link.hpp"
#include "protocol.hpp"

namespace pse::coschedule
{
namespace
{

constexpr uint32_t rounds = 30, messages = 16, table = 2 * messages;
constexpr uint64_t slice_length = 500000, copied = 8 << 20;
constexpr uint32_t notes = 10000;

// Two ranks of which nobody sleeps.
class Bench final : public Platform
{
  public:
    explicit Bench(uint32_t monitored)
        : segment({2, table, 0, 1, slice_length, slice_length, 0, monitored, 0, 0}), protocol(segment, *this)
    {
    }
    // Each rank is on a node of its own; this is the memory of one.
    explicit Bench(uint32_t node, const std::vector<uint32_t> &nodes)
        : segment({2, table, 0, 1, slice_length, slice_length, 0, 0, 0, 0, 2, node, node, 0}, nodes),
          protocol(segment, *this)
    {
    }
    uint64_t now() override
    {
        return pse_clock();
    }
    void microstrobe() override
    {
    }
    void rank(uint32_t) override
    {
    }
    void helper(uint32_t) override
    {
    }
    void strobe() override
    {
    }

    uint32_t post(pse_bcs_kind kind, uint32_t owner)
    {
        uint32_t index = protocol.allocate(owner);
        Descriptor &one = segment.descriptor(index);
        one.kind = kind;
        one.peer = static_cast<int32_t>(1 - owner);
        one.reads_payload = one.held = kind == PSE_BCS_KIND_SEND;
        protocol.post(index);
        return index;
    }

    // A slice with messages, which then arrive; what it recorded.
    pse_bcs_slice exchange(uint32_t count)
    {
        std::vector<uint32_t> posted;
        for (uint32_t message = 0; message < count; message++) {
            posted.push_back(post(PSE_BCS_KIND_SEND, 0));
            posted.push_back(post(PSE_BCS_KIND_RECEIVE, 1));
        }
        protocol.run_slice(0);
        for (uint32_t index; (index = protocol.take_ready(1)) != none;)
            protocol.finish(index, 0);
        for (uint32_t index : posted)
            protocol.release(index);
        return segment.slices()[0];
    }

    Segment segment;
    Protocol protocol;
};

template <class Step> double least(Step step)
{
    uint64_t found = UINT64_MAX;
    for (uint32_t round = 0; round < rounds; round++)
        found = std::min<uint64_t>(found, step());
    return static_cast<double>(found);
}

double copy_time()
{
    std::vector<uint8_t> from(copied, 1), into(copied);
    return least([&] {
               uint64_t begin = pse_clock();
               std::memcpy(into.data(), from.data(), copied);
               return pse_clock() - begin;
           }) /
           copied;
}

// Half of what it takes two threads to wake each other.
double wake_time()
{
    int there = eventfd(0, EFD_CLOEXEC), back = eventfd(0, EFD_CLOEXEC);
    eventfd_t value;
    std::thread echo([&] {
        eventfd_t seen;
        for (uint32_t round = 0; round < rounds; round++) {
            eventfd_read(there, &seen);
            eventfd_write(back, 1);
        }
    });
    double both = least([&] {
        uint64_t begin = pse_clock();
        eventfd_write(there, 1);
        eventfd_read(back, &value);
        return pse_clock() - begin;
    });
    echo.join();
    close(there);
    close(back);
    return both / 2;
}

// What a node does with a packet: a message's descriptor that comes from another node.
double packet_time()
{
    auto take = [](uint32_t packets) {
        Bench there(0, {0, 1}), here(1, {0, 1});
        for (uint32_t packet = 0; packet < packets; packet++)
            there.post(PSE_BCS_KIND_SEND, 0);
        SliceTree::Said told = there.protocol.begin_nodes(nullptr);
        NodeState mine = here.protocol.begin_nodes(nullptr).state;
        told.state += mine;
        uint64_t begin = pse_clock();
        here.protocol.end_nodes(mine, told);
        return pse_clock() - begin;
    };
    double none = least([&] { return take(0); });
    return std::max(0.0, least([&] { return take(messages); }) - none) / messages;
}

class Receiver final : public Link::Receiver
{
  public:
    void message(uint32_t, uint32_t, const std::string &) override
    {
        came++;
    }
    void lost(uint32_t) override
    {
    }
    uint32_t came = 0;
};

// A node's work for a message that it sends, or takes, by TCP on this machine: half of both.
double message_time()
{
    Link here(0, 2), there(1, 2);
    std::string endpoints = here.endpoint() + there.endpoint();
    std::thread other([&] { there.connect(endpoints); });
    here.connect(endpoints);
    other.join();
    Receiver receiver;
    return least([&] {
               uint64_t begin = pse_clock();
               here.post(1, 0, {});
               for (uint32_t before = receiver.came; receiver.came == before;)
                   there.wait(receiver, -1);
               return pse_clock() - begin;
           }) /
           2;
}

} // namespace

MeasuredCosts measure_costs()
{
    Bench bench(1);
    double slice = least([&] { return bench.exchange(0).gtts; });
    double exchanged = least([&] { return bench.exchange(messages).gtdem; });
    double scheduled = least([&] { return bench.exchange(messages).gtmsm; });
    return {message_time(),       packet_time(), copy_time(), exchanged / (2 * messages),
            scheduled / messages, slice,         wake_time()};
}

double noted_call()
{
    constexpr uint32_t primitives = 30;
    Monitor monitor;
    monitor.begin({}, pse_clock());
    for (uint32_t number = 0; number < primitives; number++)
        monitor.routine(std::to_string(number));
    return least([&] {
               uint64_t begin = pse_clock();
               for (uint32_t call = 0; call < notes; call++) {
                   uint64_t enter = pse_clock();
                   monitor.add(call % primitives, call, true, enter, pse_clock());
               }
               return pse_clock() - begin;
           }) /
           notes;
}

double noted_slice()
{
    Bench plain(0), noted(notes);
    auto run = [](Bench &bench) {
        uint64_t begin = pse_clock();
        for (uint32_t slice = 0; slice < notes; slice++)
            bench.protocol.run_slice(0);
        return pse_clock() - begin;
    };
    double without = least([&] { return run(plain); });
    return std::max(0.0, least([&] { return run(noted); }) - without) / notes;
}

} // namespace pse::coschedule
