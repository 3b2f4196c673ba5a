// The thread of a node's leader that takes part in the slices of several nodes.
//
// What nodes say in a slice goes up and down a tree of them (slice_tree.hpp): whoever wants a slice begins
// it, and all end it with the same outcome, so there are no slices while nobody wants one.  Payloads that
// needn't be matched go meanwhile from node to node, and the slice ends where they go to when they are there.
// So do large messages: who receives one asks the node that has it for a piece in each slice.
//
// Strict slices begin at the root, node 0, only, which its sender of strobes has begin one at a boundary:
// that other nodes want a slice, and when they have ended it, goes up the tree.
#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "nodes/link.hpp"
#include "nodes/slice_tree.hpp"
#include "protocol.hpp"
#include "standstill/segment_lock.hpp"

namespace pse::coschedule
{

class NodeThread final : private Link::Receiver
{
  public:
    NodeThread(Segment &segment, Protocol &protocol, Link &link, uint32_t rank);
    void run();
    void stop();

  private:
    enum Kind : uint32_t {
        failure = slice_kinds,
        farewell,
        request,
        piece,
        payload,
        ping,
        pong,
        orders,
        show_all,
        view
    };
    struct Request {
        uint32_t fetch, owner, source, reserved;
        uint64_t address, bytes, done;
    };
    struct Failure {
        uint32_t kind, culprit, other;
    };
    // Node 0 asks what ranks do.
    struct Look {
        uint64_t number, ended;
    };
    // What node 0 tells the others while its memory has a stepper.
    struct Orders {
        uint32_t held, observed;
        bool operator!=(const Orders &other) const
        {
            return held != other.held || observed != other.observed;
        }
    };

    void message(uint32_t node, uint32_t kind, const std::string &bytes) override;
    void lost(uint32_t node) override;
    void hear(uint32_t node, SliceKind kind, const std::string &bytes);
    void post(uint32_t node, SliceKind kind, const SliceTree::Said &said);
    void take_part();
    bool is_sender() const
    {
        return s_.options().node == 0;
    }
    bool may_begin() const;
    void ask_for_strobe();
    bool some_are_gone() const;
    void begin();
    bool has_payloads();
    void end();
    void end_strict(bool worked);
    void count_over();
    static Orders orders_at_first();
    void pass_on_orders();
    void obey(const Orders &said);
    void look();
    void show();
    void see(uint32_t node, const std::string &bytes);
    void finish_look();
    void forget(uint32_t node);
    void announce_failure();
    void hear_failure(const std::string &bytes);
    void say_farewell();
    void ask();
    bool serve();
    bool read_rank(const Request &wanted, void *into, size_t bytes);
    void serve_piece(uint32_t node, Request &wanted);
    void place(const std::string &bytes);
    void look_around();
    void watch(uint32_t node);
    uint32_t leader_of(uint32_t node) const;
    void tell_all(Kind kind, const std::string &bytes);

    Segment &s_;
    Protocol &protocol_;
    Link &link_;
    SegmentLock lock_;
    SliceTree tree_;
    std::vector<std::deque<Request>> requests_; // By node.
    std::vector<bool> parting_, gone_;
    std::vector<int64_t> payloads_; // By node: those that came, less those that were to come.
    bool awaits_payloads_ = false;  // Those of the slice that is under way have been subtracted.
    NodeState mine_{};              // In the slice that has begun.
    bool failure_told_ = false, farewell_told_ = false;
    uint32_t idle_ = 0; // Strict slices in which there was nothing to do.
    uint64_t begun_at_ = 0, looked_ = 0;
    std::vector<bool> heard_;      // Since this thread last looked.
    std::vector<uint32_t> silent_; // How often a node has not answered.
    Orders told_;
    uint64_t look_ = 0, answered_ = 0; // The last look of the stepper that this node knows, has answered.
    uint64_t asked_at_ = 0;            // How many slices were over on node 0 then.
    uint64_t matches_told_ = 0;
    std::vector<bool> unseen_; // Node 0: nodes that haven't answered.
    bool moves_elsewhere_ = false, in_slice_elsewhere_ = false;
    std::atomic<bool> stopping_{false};
};

} // namespace pse::coschedule
