// What the ranks of a node share: descriptors, collective operations and the state of the protocol, in one
// nameless memory file.  References are indices, since every rank has the file at an address of its own.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "abi_coschedule.h"
#include "nodes/process_place.hpp"
#include "pace.hpp"

namespace pse::coschedule
{

constexpr uint32_t none = PSE_BCS_NONE;
constexpr uint64_t unlimited = UINT64_MAX; // Slices: as many as come.
constexpr int32_t any = -1;        // MPI.ANY_SOURCE and MPI.ANY_TAG, whatever their values in the library.
constexpr uint32_t in_flight = 64; // Collective operations that may be under way at once.
constexpr uint64_t most_in_tree = 4096; // Bytes of a message that go along the tree of nodes.

struct Options {
    uint32_t ranks;
    uint32_t table;                      // Buffers of each rank for messages that travel with descriptors.
    uint32_t strict;                     // Slices begin at their time only.
    uint32_t ordered;                    // Wildcards are decided when all ranks are blocked.
    uint64_t slice;                      // ns, at first
    uint64_t chunk;                      // The most bytes of a message that are moved in such a slice.
    uint32_t adapted;                    // Slices of which too many come late become longer.
    uint32_t monitored;                  // Slices that the ring keeps; 0: slices aren't monitored.
    uint32_t logged;                     // Decisions that the schedule keeps.
    uint32_t replayed;                   // Decisions that are known beforehand.
    uint32_t nodes = 1, node = 0;        // Of the communicator; and which one this memory is of.
    uint32_t leader = 0, neighbours = 0; // The lowest of the node's ranks, and how many it has.
    uint64_t first_monitored = 0, last_monitored = UINT64_MAX; // Slices.
    uint32_t traced = 0;                                       // Their times are recorded elsewhere.
};

enum class State : uint32_t { free, posted, exchanged, ready, moving, moved, done };

// A first-in, first-out list of descriptors through their field `next`.
struct List {
    uint32_t head = none, tail = none;
};

// A piece of a buffer.
struct Piece {
    uint64_t offset, bytes;
};

struct Descriptor {
    pse_bcs_kind kind;
    State state;
    uint32_t owner; // Rank that posted it.
    int32_t peer;   // The other rank, or any; collectives: the root.
    int32_t tag;
    pse_bcs_collective operation;
    uint32_t next;     // In the list that it is in.
    uint32_t match;    // Receives and probes: the send.
    uint32_t error;    // 1: the message was longer than the buffer.
    uint32_t buffer;   // What travels with it lies there; none: nothing does.
    uint64_t sequence; // Counts the descriptors of its owner; collectives: `number` counts those.
    uint64_t number;
    uint64_t epoch;   // In which it was posted.
    uint64_t address; // Of the buffer, in the owner's memory.
    uint64_t bytes;
    uint64_t target;         // Collectives: of the buffer for the result.
    uint64_t moved;          // Bytes that have arrived.
    uint64_t partial;        // Reductions of large arrays: of the owner's piece of the result.
    uint64_t pieces;         // SCATTER, ALLTOALL without a buffer: of what each rank gets; else 0.
    uint64_t context;        // Messages match receives of their context only.
    uint64_t slice, matched; // Where slices are traced: that in which it was matched, and when; 0: not here.
    uint32_t awaited;        // Its owner waits for it: its place in the list of the wait, from 1.
    uint32_t round;          // Collectives: that its part is in.
    uint32_t label;          // What the operation is part of, for messages about it; see c_engine.h.
    uint8_t reads_payload;   // Sends, collectives: the bytes lie in the buffer, or there are none.
    uint8_t sent;            // Sends: the memory is the owner's again.
    uint8_t released;        // Its owner forgot it.
    uint8_t held;            // Somebody else still reads it.
    uint8_t blocking;        // Its owner posted it in a call that waits for it.
    uint8_t traced;          // Its owner's trace tells that it is complete.

    bool is_done() const // As its owner sees it.
    {
        return state == State::done || sent;
    }
};

// away: in a call that isn't the layer's, and blocked for all that it knows.
enum class Wait : uint32_t { idle, all, one, test, away };

// Buffers of a rank: how many have ever been taken, and the one that was given back last, or none.
struct BufferPool {
    uint32_t used, free;
};

struct Rank {
    std::atomic<int32_t> process;
    std::atomic<uint32_t> blocked;
    std::atomic<uint32_t> helper; // Futex: counts what the helper thread is woken for.
    uint32_t call;                // While somebody looks on: the routine that it is in, or none,
    char place[PSE_BCS_PLACE];    // and where in the program it called that or the last one.
    uint32_t left;
    Wait waits;
    uint32_t outstanding; // Awaited descriptors that are not done.
    uint32_t tested;      // A test has its answer: incomplete.
    uint32_t first;       // Wait::one: the least place of a request that is done, or none;
    uint32_t answer;      // that place as it is told to the program.
    uint32_t has_helper;
    uint32_t node;
    uint32_t shown; // Of another node, while somebody looks on: how many operations of it are known here.
    uint64_t sequence;
    uint64_t collectives; // How many it has posted.
    uint64_t answers;     // How many tests and waits for one of several have ended.
    List free, posted, arrivals, receives, ready;
    List later;           // Not before the next slice.
    List deferred;        // Collective operations that wait until older ones have ended.
    uint32_t descriptors; // How many of its own have ever been in use.
    BufferPool messages, operations;
    uint32_t unbuffered; // How many sends wait for a buffer.
};

struct Collective {
    uint64_t number; // The only one that may be under way here.
    uint32_t kind;
    int32_t root;
    uint64_t bytes;
    uint32_t arrived, left, round, rounds, used,
        lasts; // lasts: bytes stay where they are until all have them.
};

// What other nodes are told in the next slice.
enum class News : uint32_t { posted, received, performed, waits };

struct Record {
    News news;
    uint32_t index; // Of a descriptor, which is the same on all nodes.
    uint64_t value; // performed: the descriptor's `partial`; received: its `slice`.
};

// Bytes out of the memory of a rank of another node, asked for by a thread of a rank of this one.
struct Fetch {
    enum State : uint32_t { free, claimed, asked, sent, done };
    std::atomic<uint32_t> state; // Futex.
    uint32_t owner;
    uint64_t address, into, bytes;
    uint32_t source; // The send whose data it is; none: a collective operation's.
};
constexpr uint32_t fetches = 2; // Of each rank: its own thread's and its helper's.

// Of a slice of several nodes, as the sender of strobes knows it.
enum class Stage : uint32_t { over, exchange, scheduling };

struct Shared {
    uint64_t magic;
    Options options;
    pthread_mutex_t lock;
    uint32_t holder;                      // Rank that has the lock.
    std::atomic<uint32_t> strobe;         // Futex: counts what the engine is woken for.
    std::atomic<uint32_t> armed;          // The engine is to begin a slice at the next boundary.
    std::atomic<uint64_t> begun, allowed; // Slices that have begun, and that may begin.
    std::atomic<uint32_t> permits;        // Futex: counts what allows slices.
    std::atomic<uint32_t> observed;       // Somebody looks on: ranks say where they are.
    uint32_t sender;                      // Rank whose engine sends strobes; none: it has left.
    std::atomic<uint32_t> failure;
    uint32_t culprit, other;    // Ranks that the failure is about.
    std::atomic<uint32_t> told; // Somebody has said why.
    uint32_t left, blocked;
    uint64_t moving; // Descriptors that somebody has yet to move.
    uint64_t slice, epoch;
    uint64_t previous; // When the last slice began, in ns.
    Pace pace;
    uint64_t logged, recorded; // Decisions and slices so far.
    uint64_t timed, late;      // Slices that had a time; those of them that came late.
    // Several nodes:
    ProcessPlace root{};           // Of node 0's leader.
    int32_t caller;                // The leader's end of the pipe that wakes its thread for other nodes.
    std::atomic<uint32_t> called;  // It has been woken.
    uint64_t told_nodes;           // How many records there are for other nodes.
    uint32_t urgent;               // Somebody waits for them.
    uint32_t reported;             // Others know that all ranks here are blocked, and nothing has changed.
    uint32_t promised;             // They rely on it until the slice ends.
    uint32_t elsewhere;            // Ranks of other nodes that were blocked in the last slice.
    std::atomic<uint32_t> cut_off; // The leader's thread has ended: nothing comes from other nodes any more.
    uint64_t node_messages;        // That this node has sent others for slices.
    // For a stepper, on node 0:
    std::atomic<uint64_t> looks,
        seen;                     // How often it has asked what ranks do; the last time that was answered.
    std::atomic<uint32_t> sights; // Futex: counts the answers.
    uint32_t in_slice;            // A slice of several nodes has begun and isn't over here.
    uint32_t moving_elsewhere;    // Other nodes have bytes to be moved.
    uint64_t ended,
        seen_ended;         // Slices of several nodes that are over here, and that the others said were over.
    uint64_t shown_matches; // Decisions of other nodes so far.
    // Those whose slices begin by strobes of node 0 only:
    uint32_t wanted;         // Somebody here needs one.
    uint64_t due;            // When the slice that is to begin had to, in ns; 0: there is none.
    Stage stage;             // Strict ones: how far all nodes are.
    uint32_t usrdem, usrmsm; // Strobes that came too soon for the last slice.
};

// The memory file and where things lie in it.
class Segment
{
  public:
    // Makes it, with the node of each rank if there are several; throws std::system_error.
    Segment(const Options &options, const std::vector<uint32_t> &nodes = {});
    Segment(pid_t process, int descriptor); // Opens that of another process.
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;

    int file() const
    {
        return file_;
    }
    Shared &shared() const
    {
        return *shared_;
    }
    const Options &options() const
    {
        return shared_->options;
    }
    Rank &rank(uint32_t index) const
    {
        return ranks_[index];
    }
    Descriptor &descriptor(uint32_t index) const
    {
        return descriptors_[index];
    }
    // What travels with a descriptor that has a buffer.
    uint8_t *payload(const Descriptor &one) const
    {
        return payloads_ + size_t{one.buffer} * PSE_BCS_EAGER;
    }
    Collective &collective(uint64_t number) const
    {
        return collectives_[number % in_flight];
    }
    uint32_t &part(uint64_t number, uint32_t rank) const
    {
        return parts_[number % in_flight * options().ranks + rank];
    }
    pse_bcs_slice *slices() const
    {
        return slices_;
    }
    // Those that the ring has, the oldest first.
    std::vector<pse_bcs_slice> kept_slices() const;
    pse_bcs_match *matches() const
    {
        return matches_;
    }

    Record *records() const
    {
        return records_;
    }
    Fetch &fetch(uint32_t index) const
    {
        return fetches_[index];
    }
    bool is_here(uint32_t rank) const
    {
        return ranks_[rank].node == options().node;
    }
    // What the payload of a descriptor begins with: the pieces for each rank;
    uint64_t table_bytes(const Descriptor &one) const
    {
        bool has_table = one.operation == PSE_BCS_SCATTER || one.operation == PSE_BCS_ALLTOALL;
        bool is_here = one.kind == PSE_BCS_KIND_COLLECTIVE && has_table && one.buffer != none;
        return is_here ? options().ranks * sizeof(Piece) : 0;
    }
    // and all that others read of it.
    uint64_t payload_bytes(const Descriptor &one) const
    {
        return table_bytes(one) + (one.reads_payload ? one.bytes : 0);
    }
    // A message's payload that does not go along the tree of nodes with its descriptor: links carry both
    // directions at once, and no third node passes it on.
    bool goes_straight(const Descriptor &one) const
    {
        return one.kind == PSE_BCS_KIND_SEND && payload_bytes(one) > most_in_tree;
    }
    bool is_single() const
    {
        return options().nodes == 1;
    }

    // What a stepper is shown of other nodes: a rank's operations are the first of its part of the table.
    Descriptor &shown(uint32_t index) const
    {
        return shown_[index];
    }
    pse_bcs_match *shown_matches() const
    {
        return shown_matches_;
    }

    pse_bcs_match *replay() const
    {
        return replay_;
    }
    // What was decided when this was recorded, or nullptr.
    const pse_bcs_match *recorded(uint32_t kind, uint32_t rank, uint64_t number) const;
    void log(const pse_bcs_match &decision) const;

    // A descriptor or a buffer of a rank, the one given back last first since its memory is warm; or none.
    uint32_t take_descriptor(uint32_t rank) const;
    uint32_t take_buffer(const Descriptor &one) const;
    void give_back(Descriptor &buffered) const;
    // A descriptor of another node has its place here too.
    void note_descriptor(uint32_t index) const;
    // The descriptors of a rank that have ever been in use: visit(index, descriptor).
    template <class Visitor> void visit_descriptors(uint32_t rank, Visitor visit) const
    {
        uint32_t first = rank * operations();
        for (uint32_t index = first; index < first + ranks_[rank].descriptors; index++)
            visit(index, descriptors_[index]);
    }
    // How many a rank may have under way.
    uint32_t operations() const;

    void push(List &list, uint32_t index) const;
    void push_front(List &list, uint32_t index) const;
    uint32_t pop(List &list) const;
    void remove(List &list, uint32_t previous, uint32_t index) const;

  private:
    BufferPool &pool_of(const Descriptor &one) const
    {
        Rank &owner = ranks_[one.owner];
        return one.kind == PSE_BCS_KIND_COLLECTIVE ? owner.operations : owner.messages;
    }
    size_t place(uintptr_t base, const Options &options);
    void map(size_t bytes);

    int file_ = -1;
    size_t bytes_ = 0;
    Shared *shared_ = nullptr;
    Rank *ranks_ = nullptr;
    Descriptor *descriptors_ = nullptr;
    Collective *collectives_ = nullptr;
    uint32_t *parts_ = nullptr;
    pse_bcs_slice *slices_ = nullptr;
    pse_bcs_match *matches_ = nullptr;
    pse_bcs_match *replay_ = nullptr;
    Record *records_ = nullptr;
    Fetch *fetches_ = nullptr;
    Descriptor *shown_ = nullptr;
    pse_bcs_match *shown_matches_ = nullptr;
    uint32_t *next_buffers_ = nullptr; // Behind each that was given back.
    uint8_t *payloads_ = nullptr;
};

} // namespace pse::coschedule
