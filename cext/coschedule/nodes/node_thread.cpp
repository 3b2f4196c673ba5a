#include "nodes/node_thread.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "clock.h"
#include "nodes/bytes.hpp"
#include "nodes/node_view.hpp"
#include "shared_memory.hpp"
#include "standstill/watchdog.hpp"
#include "stepping/observer.hpp"
#include "strobe_timer.hpp"

namespace pse::coschedule
{
namespace
{

constexpr size_t piece_bytes = 1 << 18;
constexpr size_t most_queued = 1 << 20; // So that slices needn't wait behind much else.
constexpr int farewell_ms = 1000;
constexpr uint64_t look_interval = uint64_t{look_ms} * 1000000; // ns

// Between this process and a rank's memory; false: that rank is gone.
bool copy(bool into_rank, const Rank &rank, uint64_t address, void *here, size_t bytes)
{
    iovec local{here, bytes}, remote{reinterpret_cast<void *>(address), bytes};
    auto routine = into_rank ? process_vm_writev : process_vm_readv;
    for (size_t done = 0; done < bytes;) {
        ssize_t moved = routine(rank.process.load(), &local, 1, &remote, 1, 0);
        if (moved <= 0)
            return false;
        done += static_cast<size_t>(moved);
        local = {static_cast<uint8_t *>(here) + done, bytes - done};
        remote = {reinterpret_cast<void *>(address + done), bytes - done};
    }
    return true;
}

} // namespace

using Guard = std::unique_lock<SegmentLock>;

NodeThread::NodeThread(Segment &segment, Protocol &protocol, Link &link, uint32_t rank)
    : s_(segment), protocol_(protocol), link_(link), lock_(segment.shared(), protocol, rank),
      tree_(segment.options().node, segment.options().nodes,
            [this](uint32_t node, SliceKind kind, const SliceTree::Said &said) { post(node, kind, said); }),
      requests_(segment.options().nodes), parting_(segment.options().nodes), gone_(segment.options().nodes),
      payloads_(segment.options().nodes), heard_(segment.options().nodes), silent_(segment.options().nodes),
      told_(orders_at_first())
{
}

void NodeThread::stop()
{
    stopping_.store(true);
    protocol_.call_nodes();
}

void NodeThread::run()
{
    bool busy = true; // A stepper may be there before anything comes.
    while (!stopping_.load()) {
        link_.wait(*this, busy ? 0 : look_ms);
        s_.shared().called.store(0);
        take_part();
        is_sender() ? look() : show();
        ask();
        busy = serve();
        look_around();
    }
    {
        Guard guard(lock_);
        protocol_.cut_off();
    }
    say_farewell();
    for (uint32_t node = 0; node < s_.options().nodes; node++)
        for (int left = farewell_ms; link_.queued(node) && left > 0; left--)
            link_.wait(*this, 1);
}

void NodeThread::take_part()
{
    Guard guard(lock_);
    announce_failure();
    pass_on_orders();
    if (s_.rank(s_.options().leader).left)
        say_farewell();
    while (!protocol_.has_failed()) {
        if (!tree_.is_begun() && may_begin())
            begin();
        if (!tree_.is_over() || !has_payloads())
            break;
        end();
    }
    ask_for_strobe();
    announce_failure();
}

bool NodeThread::may_begin() const
{
    if (protocol_.is_strobed())
        return is_sender() ? s_.shared().due != 0 : tree_.is_strobed();
    return protocol_.wants_nodes() || tree_.is_called();
}

// In the slice that is under way it is too late.
void NodeThread::ask_for_strobe()
{
    bool wants = protocol_.wants_strobe() || tree_.is_called(); // Who was held later has begun.
    if (tree_.is_begun() || !protocol_.is_strobed() || protocol_.has_failed() || !wants)
        return;
    if (some_are_gone())
        return s_.shared().blocked ? protocol_.fail(PSE_BCS_FAILURE_LEFT, none, none) : void();
    is_sender() ? protocol_.call_strobe() : tree_.ask();
}

// Then there are no slices any more.
bool NodeThread::some_are_gone() const
{
    return std::find(gone_.begin(), gone_.end(), true) != gone_.end();
}

void NodeThread::begin()
{
    if (some_are_gone()) {
        s_.shared().due = 0;
        return s_.shared().blocked ? protocol_.fail(PSE_BCS_FAILURE_LEFT, none, none) : void();
    }
    begun_at_ = pse_clock();
    bool strict = s_.options().strict, follows = strict && !is_sender();
    SliceTree::Said said = protocol_.begin_nodes(follows ? &tree_.word() : nullptr);
    mine_ = said.state;
    s_.shared().in_slice = 1;
    if (is_sender() && strict)
        s_.shared().stage = Stage::exchange;
    tree_.begin(std::move(said), mine_);
    for (uint32_t index : protocol_.take_straight())
        link_.post(s_.rank(static_cast<uint32_t>(s_.descriptor(index).peer)).node, payload,
                   protocol_.payload_of(index));
}

// Whether what goes straight to this node in the slice is here: a node's payloads come in the order in which
// it says that they do.
bool NodeThread::has_payloads()
{
    if (!std::exchange(awaits_payloads_, true))
        protocol_.await_payloads(tree_.said().packets, payloads_);
    return std::all_of(payloads_.begin(), payloads_.end(), [](int64_t came) { return came >= 0; });
}

void NodeThread::post(uint32_t node, SliceKind kind, const SliceTree::Said &said)
{
    s_.shared().node_messages++;
    link_.post(node, static_cast<uint32_t>(kind), pack(said));
}

void NodeThread::end()
{
    awaits_payloads_ = false;
    bool worked = protocol_.end_nodes(mine_, tree_.end());
    s_.shared().in_slice = 0;
    s_.shared().ended++;
    if (s_.options().strict)
        return end_strict(worked);
    s_.shared().timed++;
    s_.shared().late += pse_clock() - begun_at_ > s_.options().slice;
}

// The sender goes on for some slices, so that what is posted soon after needs not ask for one.
void NodeThread::end_strict(bool worked)
{
    if (is_sender())
        s_.shared().stage = Stage::scheduling;
    count_over();
    if (!is_sender())
        return;
    idle_ = worked ? 0 : idle_ + 1;
    if (protocol_.needs_strobe() || idle_ < linger)
        protocol_.call_strobe();
}

// The next slice may begin when all nodes have ended this one.
void NodeThread::count_over()
{
    if (tree_.count_over())
        s_.shared().stage = Stage::over;
}

void NodeThread::tell_all(Kind kind, const std::string &bytes)
{
    for (uint32_t node = 0; node < s_.options().nodes; node++)
        if (node != s_.options().node)
            link_.post(node, kind, bytes);
}

void NodeThread::announce_failure()
{
    if (!protocol_.has_failed() || failure_told_)
        return;
    failure_told_ = true;
    const Shared &shared = s_.shared();
    tell_all(failure,
             bytes_of(Failure{shared.failure.load(), shared.culprit, shared.other}) + protocol_.waits());
}

void NodeThread::hear_failure(const std::string &bytes)
{
    Guard guard(lock_);
    failure_told_ = true;
    if (protocol_.has_failed())
        return;
    auto said = part_of<Failure>(bytes);
    protocol_.apply(bytes.substr(sizeof said));
    protocol_.fail(static_cast<pse_bcs_failure>(said.kind), said.culprit, said.other);
}

void NodeThread::say_farewell()
{
    if (!farewell_told_)
        tell_all(farewell, {});
    farewell_told_ = true;
}

void NodeThread::message(uint32_t node, uint32_t kind, const std::string &bytes)
{
    heard_[node] = true;
    if (kind == ping) {
        link_.post(node, pong, {});
    } else if (kind == pong) {
        return;
    } else if (kind < slice_kinds) {
        hear(node, static_cast<SliceKind>(kind), bytes);
    } else if (kind == request) {
        requests_[node].push_back(part_of<Request>(bytes));
    } else if (kind == piece) {
        place(bytes);
    } else if (kind == payload) {
        protocol_.take_payload(bytes);
        payloads_[node]++;
    } else if (kind == failure) {
        hear_failure(bytes);
    } else if (kind == orders) {
        obey(part_of<Orders>(bytes));
    } else if (kind == show_all) {
        auto asked = part_of<Look>(bytes);
        look_ = asked.number;
        asked_at_ = asked.ended;
    } else if (kind == view) {
        Guard guard(lock_);
        see(node, bytes);
    } else {
        parting_[node] = true;
    }
}

void NodeThread::hear(uint32_t node, SliceKind kind, const std::string &bytes)
{
    if (kind < SliceKind::over)
        return tree_.message(node, kind, unpack(bytes));
    if (kind == SliceKind::want && !is_sender())
        return tree_.ask();
    Guard guard(lock_);
    kind == SliceKind::over ? count_over() : protocol_.call_strobe();
}

// Its leader has ended: it said so, or has died.
void NodeThread::lost(uint32_t node)
{
    gone_[node] = true;
    requests_[node].clear();
    Guard guard(lock_);
    forget(node);
    if (!parting_[node])
        protocol_.fail(PSE_BCS_FAILURE_DEAD, leader_of(node), none);
    else if (tree_.is_begun())
        protocol_.fail(PSE_BCS_FAILURE_LEFT, none, none);
    else
        s_.shared().reported = 0; // Nobody there begins a slice any more: what waits here for that is told.
}

uint32_t NodeThread::leader_of(uint32_t node) const
{
    uint32_t leader = 0;
    while (s_.rank(leader).node != node)
        leader++;
    return leader;
}

// A process that stands still keeps its connections, so nodes ask their neighbours in the tree, and those of
// whose memory something is to come, whether they are there, as long as somebody waits here.
void NodeThread::look_around()
{
    if (pse_clock() - looked_ < look_interval)
        return;
    looked_ = pse_clock();
    Guard guard(lock_);
    if (protocol_.has_failed() || (!s_.shared().blocked && !tree_.is_begun() && !s_.shared().moving))
        return;
    std::vector<uint32_t> nodes = tree_.neighbours();
    for (uint32_t node = 0; node < payloads_.size(); node++)
        if (payloads_[node] < 0)
            nodes.push_back(node);
    for (uint32_t index = 0; index < s_.options().ranks * fetches; index++)
        if (s_.fetch(index).state.load() == Fetch::sent)
            nodes.push_back(s_.rank(s_.fetch(index).owner).node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (uint32_t node : nodes)
        watch(node);
    announce_failure();
}

// What counts is how often it was asked in vain, not the time: this process may have stood still itself.
void NodeThread::watch(uint32_t node)
{
    silent_[node] = heard_[node] || gone_[node] ? 0 : silent_[node] + 1;
    heard_[node] = false;
    if (silent_[node] > most_looks)
        return protocol_.fail(PSE_BCS_FAILURE_SILENT, leader_of(node), none);
    link_.post(node, ping, {});
}

// What ranks of this node want of other nodes' memory.
void NodeThread::ask()
{
    for (uint32_t index = 0; index < s_.options().ranks * fetches; index++) {
        Fetch &fetch = s_.fetch(index);
        if (fetch.state.load() != Fetch::asked)
            continue;
        fetch.state.store(Fetch::sent);
        link_.post(s_.rank(fetch.owner).node, request,
                   bytes_of(Request{index, fetch.owner, fetch.source, 0, fetch.address, fetch.bytes, 0}));
    }
}

// Whether there is more to do at once.
bool NodeThread::serve()
{
    bool more = false;
    for (uint32_t node = 0; node < s_.options().nodes; node++)
        if (!requests_[node].empty() && link_.queued(node) < most_queued) {
            serve_piece(node, requests_[node].front());
            if (requests_[node].front().done == requests_[node].front().bytes)
                requests_[node].pop_front();
            more |= !requests_[node].empty() && link_.queued(node) < most_queued;
        }
    return more;
}

// A small message may get a buffer at any time, and then its sender goes on, and changes its memory.
bool NodeThread::read_rank(const Request &wanted, void *into, size_t bytes)
{
    const Rank &owner = s_.rank(wanted.owner);
    uint64_t address = wanted.address + wanted.done;
    if (wanted.source == none || s_.descriptor(wanted.source).bytes > PSE_BCS_EAGER)
        return copy(false, owner, address, into, bytes);
    Guard guard(lock_);
    const Descriptor &send = s_.descriptor(wanted.source);
    if (!send.reads_payload)
        return copy(false, owner, address, into, bytes);
    std::memcpy(into, s_.payload(send) + (address - send.address), bytes);
    return true;
}

void NodeThread::serve_piece(uint32_t node, Request &wanted)
{
    size_t bytes = std::min<uint64_t>(piece_bytes, wanted.bytes - wanted.done);
    std::string answer = bytes_of(wanted);
    answer.resize(sizeof wanted + bytes);
    if (!read_rank(wanted, answer.data() + sizeof wanted, bytes)) {
        Guard guard(lock_);
        wanted.done = wanted.bytes;
        return protocol_.fail(PSE_BCS_FAILURE_DEAD, wanted.owner, none);
    }
    wanted.done += bytes;
    link_.post(node, piece, answer);
}

void NodeThread::place(const std::string &bytes)
{
    auto wanted = part_of<Request>(bytes);
    Fetch &fetch = s_.fetch(wanted.fetch);
    uint32_t rank = wanted.fetch / fetches;
    if (protocol_.has_failed())
        return;
    size_t count = bytes.size() - sizeof wanted;
    if (!copy(true, s_.rank(rank), fetch.into + wanted.done, const_cast<char *>(bytes.data() + sizeof wanted),
              count)) {
        Guard guard(lock_);
        return protocol_.fail(PSE_BCS_FAILURE_DEAD, rank, none);
    }
    if (wanted.done + count < wanted.bytes)
        return;
    futex_wake(fetch.state); // From sent to done.
}

// How several nodes are held and looked at: the stepper has the memory of node 0, whose thread holds slices
// back by not beginning them, tells the other nodes to begin none without it, and asks them what their ranks
// do.

// Where ranks are started by a stepper, all nodes wait for it.
NodeThread::Orders NodeThread::orders_at_first()
{
    return {has_stepper(), has_stepper()};
}

void NodeThread::pass_on_orders()
{
    const Shared &shared = s_.shared();
    Orders now{shared.allowed.load() != unlimited, shared.observed.load()};
    if (is_sender() && now != told_)
        tell_all(orders, bytes_of(told_ = now));
}

void NodeThread::obey(const Orders &said)
{
    Guard guard(lock_);
    Shared &shared = s_.shared();
    shared.observed.store(said.observed);
    shared.allowed.store(said.held ? 0 : unlimited);
    shared.wanted |= said.held && shared.armed.load();
    futex_wake(shared.permits);
}

// Node 0: the stepper waits until all have shown what their ranks do.
void NodeThread::look()
{
    Guard guard(lock_);
    uint64_t wanted = s_.shared().looks.load();
    if (wanted == look_)
        return;
    look_ = wanted;
    asked_at_ = s_.shared().ended;
    moves_elsewhere_ = in_slice_elsewhere_ = false;
    unseen_.assign(gone_.size(), true);
    for (uint32_t node = 0; node < unseen_.size(); node++)
        unseen_[node] = node != s_.options().node && !gone_[node];
    tell_all(show_all, bytes_of(Look{look_, asked_at_}));
    finish_look();
}

// Another node: what it wants goes before what it shows.
void NodeThread::show()
{
    if (look_ == answered_)
        return;
    Guard guard(lock_);
    ask_for_strobe();
    // A slice that node 0 hasn't begun is held: this node began before it was told so.
    bool in_slice = s_.shared().ended < asked_at_;
    link_.post(0, view, view_of(s_, look_, in_slice, matches_told_));
    answered_ = look_;
}

void NodeThread::see(uint32_t node, const std::string &bytes)
{
    NodeView seen = take_view(s_, bytes);
    if (seen.number != look_)
        return;
    moves_elsewhere_ |= seen.is_moving != 0;
    in_slice_elsewhere_ |= seen.in_slice != 0;
    unseen_[node] = false;
    finish_look();
}

void NodeThread::finish_look()
{
    if (std::find(unseen_.begin(), unseen_.end(), true) != unseen_.end())
        return;
    s_.shared().moving_elsewhere = moves_elsewhere_;
    if (!in_slice_elsewhere_)
        s_.shared().seen_ended = asked_at_;
    s_.shared().seen.store(look_);
    futex_wake(s_.shared().sights);
}

// A node whose leader has ended: its ranks have left, or nobody knows of them any more.
void NodeThread::forget(uint32_t node)
{
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        if (s_.rank(rank).node != node)
            continue;
        s_.rank(rank).shown = 0;
        s_.rank(rank).left |= parting_[node];
        s_.rank(rank).process.store(PSE_BCS_ENDED);
    }
    if (unseen_.empty())
        return;
    unseen_[node] = false;
    finish_look();
}

} // namespace pse::coschedule
