// One rank's end of the layer: it posts descriptors, waits for them, moves the bytes that are its own to
// move, and has the threads that do so while the rank computes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "monitoring/monitor.hpp"
#include "nodes/link.hpp"
#include "nodes/node_thread.hpp"
#include "protocol.hpp"
#include "rank_doorbells.h"
#include "segment.hpp"
#include "standstill/watchdog.hpp"
#include "strobe_timer.hpp"
#include "tracing/layer_trace.hpp"
#include "transfer.hpp"

namespace pse::coschedule
{

struct Status {
    int32_t source, tag;
    uint64_t bytes;
    bool truncated;
};

// What separates the messages of communicators that share a layer, and names what they are part of.
struct Context {
    uint64_t number = 0;
    uint32_t label = 0;
    bool synchronous = false; // A send is complete when it has been received.
};

class Engine final : public Platform
{
  public:
    // A node's leader makes the memory; `nodes` has the node of each rank, or nothing if there is one node.
    Engine(const Options &options, const std::vector<uint32_t> &nodes, const pse_bcs_match *replay);
    Engine(pid_t process, int segment, int bells, uint32_t rank); // The others open it.
    ~Engine() override;

    uint32_t me() const
    {
        return me_;
    }
    // The lowest rank of its node, whose process has the node's threads.
    bool is_leader() const
    {
        return me_ == segment_->options().leader;
    }
    const Segment &segment() const
    {
        return *segment_;
    }
    int segment_file() const
    {
        return segment_->file();
    }
    int bells_file() const
    {
        return pse_bcs_doorbells_fd(bells_);
    }
    Monitor &monitor()
    {
        return monitor_;
    }
    // Where the rank's events go from now on; throws std::system_error.
    void trace(const TracePlace &place)
    {
        trace_.reset(new LayerTrace(place, me_));
    }
    // None: nothing is recorded.
    LayerTrace *trace()
    {
        return trace_.get();
    }
    // Leaders of several nodes: where others reach this one; and reach all, in the order of nodes.
    std::string endpoint() const
    {
        return link_->endpoint();
    }
    void connect(const std::string &endpoints);
    // All ranks have entered: watch over them.
    void begin();
    // Whether this process may read the memory of the others; 0 or the error's number.
    int try_reading();
    void leave();
    // The shortest slice that this machine keeps; it is measured, with slices as long as they are to be.
    uint64_t shortest_slice() const;
    // That slices have become longer; empty if they haven't.
    std::string pace_text() const;

    // Each gives a descriptor at once, or none if the layer has failed.
    uint32_t send(const void *data, uint64_t bytes, int32_t dest, int32_t tag, bool blocking,
                  const Context &context = {});
    uint32_t receive(void *data, uint64_t bytes, int32_t source, int32_t tag, bool blocking,
                     const Context &context = {});
    uint32_t probe(int32_t source, int32_t tag, const Context &context = {});
    struct Collection {
        pse_bcs_collective operation;
        int32_t root;
        const void *data;
        uint64_t bytes;
        void *target;
        std::vector<Piece> pieces; // SCATTER, ALLTOALL: what each rank gets of `data`.
        bool blocking;
    };
    uint32_t collective(const Collection &what, Call call);

    pse_bcs_outcome wait(const std::vector<uint32_t> &requests, Wait mode);
    // After Wait::one: the place of the request that is complete.
    uint32_t answer() const
    {
        return segment_->rank(me_).answer;
    }
    bool is_done(uint32_t request) const;
    Status status(uint32_t request) const;
    void release(uint32_t request);
    // Take back a receive; false: it has its message.
    bool cancel(uint32_t request);

    // Checkpoints: when all ranks have come to a barrier, nothing is matched until they go on.
    struct Mark {
        uint64_t sequence, answers, slice, epoch;
    };
    struct Unreceived {
        int32_t peer, tag;
        uint64_t sequence, epoch;
        const uint8_t *data;
        uint64_t bytes;
    };
    Mark mark();
    // Messages of this rank that nobody has received, in the order in which they were sent.
    std::vector<Unreceived> unreceived();
    // Take up where a mark was made.  Data stays where it is until it is received.
    void restore(const Mark &mark, const std::vector<Unreceived> &messages);
    // How many operations this rank has posted: what a checkpoint itself posts doesn't count.
    void set_sequence(uint64_t sequence);

    // Somebody looks on: say which routine this rank is in, and where the program called it; none: in no one.
    bool is_observed() const
    {
        return segment_->shared().observed.load(std::memory_order_relaxed) != 0;
    }
    void enter_call(uint32_t routine, const char *place);
    void leave_call();

    // Around calls that may block elsewhere: meanwhile the others take this rank for blocked.
    void go_away();
    void come_back();
    // How long a blocked rank sleeps before a wait is interrupted.
    void look_after(uint64_t time)
    {
        look_ = time;
    }

    uint64_t now() override;
    void microstrobe() override // There is one node.
    {
    }
    void rank(uint32_t rank) override;
    std::vector<uint32_t> take_unblocked() override;
    void wake_ranks(const std::vector<uint32_t> &ranks) override;
    void helper(uint32_t rank) override;
    void strobe() override;
    void nodes() override;
    void ended(const pse_bcs_slice &slice) override;

  private:
    friend class Lock;
    void enter(uint32_t rank);
    uint32_t allocate();
    uint32_t describe(pse_bcs_kind kind, int32_t peer, int32_t tag, const void *data, uint64_t bytes);
    bool is_awaited(const Descriptor &send) const;
    void buffer_sends();
    bool take_buffer(Descriptor &send);
    void keep_promise(std::unique_lock<class Lock> &guard);
    void serve_nodes();
    int open_peer(uint32_t rank);
    uint32_t posted(uint32_t index, bool blocking, bool background);
    void begin_slice();
    bool work();
    void move(uint32_t index);
    pse_bcs_outcome sleep(std::unique_lock<class Lock> &guard, const std::vector<uint32_t> &requests);
    pse_bcs_outcome wait_until(std::unique_lock<class Lock> &guard, const std::vector<uint32_t> &requests,
                               Wait mode);
    pse_bcs_outcome repeat(std::unique_lock<class Lock> &guard, const std::vector<uint32_t> &requests,
                           Wait mode, uint32_t told);
    bool is_satisfied(const std::vector<uint32_t> &requests, Wait mode);
    pse_bcs_outcome wait_for_answer(std::unique_lock<class Lock> &guard,
                                    const std::vector<uint32_t> &requests, Wait mode);
    void trace_complete(const std::vector<uint32_t> &requests, Wait mode);
    void trace_sends();
    bool ends_with_slice(const std::vector<uint32_t> &requests) const;
    uint64_t awake_time(const std::vector<uint32_t> &requests) const;
    bool is_core_wanted() const;
    void await(uint64_t boundary);
    std::thread start(void (Engine::*body)());
    void start_helper();
    void help();
    void send_strobes();
    bool await_permission();
    void watch();
    void look_around();

    std::unique_ptr<Segment> segment_;
    pse_bcs_doorbells *bells_ = nullptr;
    uint32_t me_ = 0;
    uint64_t look_ = 1000000000; // Another thread may have taken a signal.
    Protocol protocol_;
    Transfer transfer_;
    Monitor monitor_;
    std::unique_ptr<LayerTrace> trace_;
    std::vector<uint32_t> sends_; // Forgotten by the program, but not told by the trace;
    size_t most_sends_ = 0;       // how many there are when it looks again.
    std::unique_ptr<Watchdog> watchdog_;
    std::unordered_map<uint32_t, Call> calls_; // Of collective descriptors; guarded by the lock.
    std::deque<std::pair<uint32_t, uint64_t>>
        unbuffered_;         // Sends that wait for a buffer: index and sequence.
    std::vector<int> peers_; // pidfds
    int stop_event_ = -1;
    StrobeTimer strobe_timer_, own_timer_;
    std::vector<uint32_t> unblocked_; // Guarded by the lock.
    std::atomic<bool> stopping_{false};
    int caller_ = -1; // Wakes the leader's thread for other nodes.
    std::unique_ptr<Link> link_;
    std::unique_ptr<NodeThread> node_thread_; // Leaders of several nodes.
    std::thread strobes_, helper_, watcher_, nodes_;
};

} // namespace pse::coschedule
