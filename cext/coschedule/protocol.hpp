// The protocol of buffered coscheduling on one node (Fernandez, Petrini, Frachtenberg, sections 3 and 4): a
// slice exchanges the descriptors that were posted since the last one, matches them, and says who may move
// which bytes.
//
// Every function is called with the segment's lock held.  Nothing here waits or touches a rank's own memory,
// and time is the platform's: that makes it the same code for real ranks and for simulated ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nodes/slice_tree.hpp"
#include "segment.hpp"

namespace pse::coschedule
{

// What real ranks and simulated ones have in different ways: a clock, other nodes, and how somebody is woken.
class Platform
{
  public:
    virtual ~Platform() = default;
    virtual uint64_t now() = 0; // ns
    // A microphase is over on all nodes, and the next one begins.
    virtual void microstrobe() = 0;
    virtual void rank(uint32_t rank) = 0; // It is no longer blocked.
    // Those that rank() has not woken, with the lock held; and wake them, without it.
    virtual std::vector<uint32_t> take_unblocked()
    {
        return {};
    }
    virtual void wake_ranks(const std::vector<uint32_t> & /*ranks*/)
    {
    }
    virtual void helper(uint32_t rank) = 0; // It computes, and bytes can be moved for it.
    virtual void strobe() = 0;              // A slice is to begin at the next boundary.
    virtual void nodes() // A slice is to begin on all nodes; never called where there is one.
    {
    }
    virtual void ended(const pse_bcs_slice & /*slice*/) // Where slices are traced.
    {
    }
};

class Protocol
{
  public:
    Protocol(Segment &segment, Platform &platform) : s_(segment), platform_(platform)
    {
    }

    // A descriptor for the rank to fill in, or none: it has too many.
    uint32_t allocate(uint32_t rank);
    // A buffer for so many bytes, from which others read them; false: all are in use, and others read the
    // owner's memory.  It is given back when nobody reads it any more.
    bool take_buffer(Descriptor &one, uint64_t bytes) const;
    void post(uint32_t index);
    // A send that was exchanged goes to where it is received.
    void deliver(uint32_t index);
    // The owner forgets a descriptor: it is free again as soon as nobody needs it.
    void release(uint32_t index);
    // A probe that was answered with no, or a receive that is taken back.
    void withdraw(uint32_t index);

    // One slice; `deadline` is when it had to begin, 0: it begins because a rank blocked.  Says whether there
    // was anything to do.
    bool run_slice(uint64_t deadline);
    // If all ranks are blocked: wildcards and tests are decided, a deadlock is found.
    void settle();
    bool is_quiescent() const;
    bool may_begin() const
    {
        return s_.shared().begun.load() < s_.shared().allowed.load();
    }

    // A slice of several nodes (node_slices.cpp).  Whether it begins by a strobe of node 0 only;
    bool is_strobed() const
    {
        return !s_.is_single() && (s_.options().strict || s_.shared().allowed.load() != unlimited);
    }
    // whether one is wanted;
    bool wants_nodes() const;
    bool wants_strobe() const
    {
        return s_.shared().wanted || wants_nodes();
    }
    // what this node says, given what node 0 has said if that strobes;
    SliceTree::Said begin_nodes(const NodeState *strobe);
    // messages whose payloads then go straight to their receivers' nodes, and such a payload as it is sent
    // and taken;
    std::vector<uint32_t> take_straight()
    {
        return std::exchange(straight_, {});
    }
    std::string payload_of(uint32_t index) const;
    void take_payload(const std::string &message) const;
    // how many of them come from each node, which is subtracted;
    void await_payloads(const std::string &packets, std::vector<int64_t> &came) const;
    // and what all have said; `mine` is this node's own state.  Says whether there was anything to do.
    bool end_nodes(const NodeState &mine, const SliceTree::Said &all);
    // Nothing comes from other nodes any more: whoever waits for that is told.
    void cut_off();
    void call_nodes()
    {
        platform_.nodes();
    }
    void call_strobe()
    {
        platform_.strobe();
    }
    Platform &platform() const
    {
        return platform_;
    }
    // It is time for a strobe; where a node is still in the slice before, it is sent at the next boundary.
    void strobe_nodes(uint64_t deadline);
    // What ranks of this node wait for, as others are told when the layer fails, and as they take it.
    std::string waits() const;
    void apply(const std::string &message);

    // What the rank waits for from now on; says whether any of it isn't done.
    bool await(uint32_t rank, const std::vector<uint32_t> &requests);
    // The rank sleeps until that is done; false: it has bytes to move.
    bool block(uint32_t rank);
    void unblock(uint32_t rank);
    // A descriptor of the rank whose bytes can be moved now, or none.
    uint32_t take_ready(uint32_t rank)
    {
        return s_.pop(s_.rank(rank).ready);
    }
    // How many bytes of a receive are moved in one slice.
    uint64_t chunk_of(const Descriptor &receive) const;
    // `bytes` more of it were moved.
    void finish(uint32_t index, uint64_t bytes);
    // Whether the slice that has begun last is monitored.
    bool is_monitored() const
    {
        const Options &options = s_.options();
        uint64_t slice = s_.shared().slice;
        return options.monitored && options.first_monitored <= slice && slice <= options.last_monitored;
    }
    bool is_timed() const
    {
        return s_.options().traced || is_monitored();
    }
    // The time where slices are monitored or traced, else 0.
    uint64_t time() const
    {
        return is_timed() ? platform_.now() : 0;
    }
    // That bytes of a descriptor were moved, which took so long (ns).
    void note_move(const Descriptor &one, uint64_t took);
    void fail(pse_bcs_failure failure, uint32_t culprit, uint32_t other);
    void leave(uint32_t rank);
    pid_t process_of(uint32_t rank) const
    {
        return s_.rank(rank).process.load();
    }
    bool has_failed() const
    {
        return s_.shared().failure.load() != PSE_BCS_FAILURE_NONE;
    }
    // Something can only go on in a slice that begins at its time.
    bool needs_strobe() const;

  private:
    // Adds to a slice how long a routine takes on this node (LTRi of table 5.2).
    class RoutineTime
    {
      public:
        RoutineTime(const Protocol &protocol, uint64_t &total)
            : protocol_(protocol), total_(total), begin_(protocol.time())
        {
        }
        ~RoutineTime()
        {
            total_ += protocol_.time() - begin_;
        }
        RoutineTime(const RoutineTime &) = delete;
        RoutineTime &operator=(const RoutineTime &) = delete;

      private:
        const Protocol &protocol_;
        uint64_t &total_;
        uint64_t begin_;
    };

    bool begin(pse_bcs_slice &record, uint64_t deadline);
    void follow(const NodeState &strobe);
    void note_exchange(pse_bcs_slice &record);
    void keep_time(pse_bcs_slice &record, uint64_t deadline);
    bool exchange(pse_bcs_slice &record);
    void schedule(pse_bcs_slice &record);
    bool post_deferred(uint32_t rank);
    void join(uint32_t index, pse_bcs_slice &record);
    bool fits(const Collective &operation, const Descriptor &first, const Descriptor &one) const;
    uint32_t match(uint32_t rank, bool decide);
    uint32_t find(uint32_t rank, uint32_t receive, uint32_t &previous, bool decide) const;
    bool is_held(uint32_t rank, uint32_t receive, const Descriptor &send) const;
    void pair(uint32_t receive, uint32_t send);
    void answer(uint32_t probe, uint32_t send);
    void note_match(const Descriptor &receive, const Descriptor &send);
    void note_time(Descriptor &matched) const;
    void make_ready(uint32_t index);
    bool is_large(const Descriptor &one) const;
    void postpone(uint32_t index, State state);
    void complete(uint32_t index);
    void finish_message(uint32_t index);
    void finish_part(uint32_t index);
    void let_go(uint32_t index);
    void begin_round(Collective &operation);
    void end(Collective &operation);
    bool release_testers();
    bool has_testers() const;
    bool decide(pse_bcs_slice &record);
    bool can_decide() const;
    void tell(News news, uint32_t index, bool urgent);
    std::string write(const Record &record) const;
    void apply_packets(const std::string &packets, bool waits);
    void take(const Record &record, const std::string &message, size_t &at);
    void count_down(Collective &operation);
    void note_slice(pse_bcs_slice &record);
    pse_bcs_slice &last_slice();
    void collect(uint32_t index);

    Segment &s_;
    Platform &platform_;
    std::vector<uint32_t> straight_;
    pse_bcs_slice node_slice_{}; // The slice of several nodes that is under way.
    pse_bcs_slice before_{};     // Stands for the last one where none is kept.
    bool worked_ = false;        // Something was exchanged in it.
    bool hears_ = false;         // What other nodes have told in it is being taken.
};

} // namespace pse::coschedule
