#include "engine.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h> // SYS_pidfd_open
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "abi_waiting.h"
#include "nodes/caller.hpp"
#include "shared_memory.hpp"
#include "standstill/segment_lock.hpp"
#include "stepping/lock.hpp"
#include "stepping/observer.hpp"

namespace pse::coschedule
{
namespace
{

constexpr uint64_t look_for_stepper = 500000000; // ns

Options completed(Options options)
{
    options.logged = kept_decisions(options.logged);
    options.traced = trace_directory() != nullptr;
    return options;
}

void check(int result, const char *what)
{
    if (result < 0)
        throw std::system_error(-result, std::generic_category(), what);
}

void set_context(Descriptor &one, const Context &context)
{
    one.context = context.number;
    one.label = context.label;
}

} // namespace

Engine::Engine(const Options &options, const std::vector<uint32_t> &nodes, const pse_bcs_match *replay)
    : segment_(new Segment(completed(options), nodes)), protocol_(*segment_, *this),
      transfer_(*segment_, *this, options.leader)
{
    if (options.nodes > 1) {
        link_.reset(new Link(options.node, options.nodes));
        segment_->shared().caller = caller_ = link_->caller();
    }
    check(pse_bcs_doorbells_create(&bells_, options.ranks), "make the doorbells of ranks");
    std::copy_n(replay, options.replayed, segment_->replay());
    segment_->shared().pace = {options.slice, pse_clock()};
    segment_->shared().sender = options.leader;
    enter(options.leader);
    announce(*segment_);
}

Engine::Engine(pid_t process, int segment, int bells, uint32_t rank)
    : segment_(new Segment(process, segment)), protocol_(*segment_, *this), transfer_(*segment_, *this, rank)
{
    if (!segment_->is_single())
        caller_ = open_pipe(process, segment_->shared().caller);
    check(pse_bcs_doorbells_attach(&bells_, process, bells), "open the doorbells of ranks");
    enter(rank);
}

void Engine::enter(uint32_t rank)
{
    me_ = rank;
    // Where processes may only read the memory of their children, the others are allowed to.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    pse_bcs_doorbells_enter(bells_, rank);
    segment_->rank(rank).process.store(getpid());
}

int Engine::try_reading()
{
    uint64_t here;
    for (uint32_t rank = 0; rank < segment_->options().ranks; rank++) {
        if (!segment_->is_here(rank))
            continue;
        iovec local{&here, sizeof here}, remote{nullptr, 0};
        if (process_vm_readv(segment_->rank(rank).process.load(), &local, 1, &remote, 1, 0) < 0)
            return errno;
    }
    return 0;
}

uint64_t Engine::shortest_slice() const
{
    uint64_t length = segment_->options().slice, shortest = 0;
    std::thread strobes(
        [&] { shortest = pse::coschedule::shortest_slice(length, [=] { return median_lateness(length); }); });
    strobes.join();
    return shortest;
}

std::string Engine::pace_text() const
{
    const Pace &pace = segment_->shared().pace;
    uint64_t chosen = segment_->options().slice;
    if (pace.length == chosen)
        return "";
    char text[200];
    std::snprintf(
        text, sizeof text,
        "more than 1 %% of the time slices of %g µs came late, so from slice %llu on they take %g µs",
        static_cast<double>(chosen) / 1e3, static_cast<unsigned long long>(pace.first),
        static_cast<double>(pace.length) / 1e3);
    return text;
}

// What becomes readable when a rank of this node ends; it may have ended already.
int Engine::open_peer(uint32_t rank)
{
    auto peer = static_cast<int>(syscall(SYS_pidfd_open, segment_->rank(rank).process.load(), 0));
    if (peer >= 0 || errno != ESRCH)
        return peer;
    Lock lock(*this);
    Guard guard(lock);
    protocol_.fail(PSE_BCS_FAILURE_DEAD, rank, none);
    return peer;
}

void Engine::begin()
{
    stop_event_ = eventfd(0, EFD_CLOEXEC);
    for (uint32_t rank = 0; rank < segment_->options().ranks; rank++)
        peers_.push_back(rank == me_ || !segment_->is_here(rank) ? -1 : open_peer(rank));
    watchdog_.reset(new Watchdog(*segment_, protocol_, me_));
    watcher_ = start(&Engine::watch);
    if (is_leader())
        strobes_ = start(&Engine::send_strobes);
    if (!link_)
        return;
    node_thread_.reset(new NodeThread(*segment_, protocol_, *link_, me_));
    nodes_ = start(&Engine::serve_nodes);
}

// Signals are for the program's own threads: a rank that waits is interrupted by them.
std::thread Engine::start(void (Engine::*body)())
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread(body, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

void Engine::leave()
{
    Lock lock(*this);
    Guard guard(lock);
    if (segment_->rank(me_).left)
        return;
    trace_sends();
    protocol_.leave(me_);
    pse_bcs_doorbells_leave(bells_, me_);
    Shared &shared = segment_->shared();
    if (segment_->is_single() && shared.sender == me_) { // The next one who needs strobes sends them.
        shared.sender = none;
        shared.armed.store(0);
    }
    if (protocol_.may_begin() || !segment_->is_single())
        protocol_.settle();
}

Engine::~Engine()
{
    leave();
    stopping_.store(true);
    futex_wake(segment_->rank(me_).helper);
    if (strobes_.joinable()) {
        futex_wake(segment_->shared().strobe);
        futex_wake(segment_->shared().permits);
    }
    if (node_thread_)
        node_thread_->stop();
    if (stop_event_ >= 0)
        eventfd_write(stop_event_, 1);
    for (std::thread *thread : {&strobes_, &helper_, &watcher_, &nodes_})
        if (thread->joinable())
            thread->join();
    for (int peer : peers_)
        if (peer >= 0)
            close(peer);
    if (stop_event_ >= 0)
        close(stop_event_);
    if (caller_ >= 0 && !link_)
        close(caller_);
    pse_bcs_doorbells_close(bells_);
}

void Engine::rank(uint32_t rank)
{
    unblocked_.push_back(rank);
}

std::vector<uint32_t> Engine::take_unblocked()
{
    return std::exchange(unblocked_, {});
}

// A system puts who is woken on an idle core: those that were on others first, or one that was on this core
// takes their place, and they share it.
void Engine::wake_ranks(const std::vector<uint32_t> &ranks)
{
    auto core = static_cast<uint32_t>(sched_getcpu());
    for (bool here : {false, true})
        for (uint32_t rank : ranks)
            if (pse_bcs_doorbells_is_on(bells_, rank, core) == here)
                pse_bcs_doorbells_ring(bells_, rank);
}

void Engine::helper(uint32_t rank)
{
    futex_wake(segment_->rank(rank).helper);
}

uint64_t Engine::now()
{
    return pse_clock();
}

void Engine::nodes()
{
    wake(segment_->shared(), caller_);
}

void Engine::ended(const pse_bcs_slice &slice)
{
    if (trace_)
        trace_->add(slice);
}

void Engine::connect(const std::string &endpoints)
{
    link_->connect(endpoints);
    segment_->shared().root = Link::place_of(endpoints);
}

// What talks to the leaders of other nodes.
void Engine::serve_nodes()
{
    be_on_time(); // Else others wait until a rank that computes lets go of the core.
    node_thread_->run();
}

void Engine::strobe()
{
    Shared &shared = segment_->shared();
    if (protocol_.is_strobed() && segment_->options().node > 0) {
        shared.wanted = 1;
        return nodes();
    }
    if (shared.sender == none && !segment_->rank(me_).left) {
        shared.sender = me_;
        strobes_ = start(&Engine::send_strobes);
    }
    if (!shared.armed.exchange(1))
        futex_wake(shared.strobe);
}

// A slice that a rank needs now, and what is decided when all are blocked after it.  In strict mode, and when
// none may begin yet, it is the strobe sender's.
void Engine::begin_slice()
{
    if (segment_->options().strict || !protocol_.may_begin())
        return strobe();
    protocol_.run_slice(0);
    protocol_.settle();
}

// Whether the receiver of a message, or a rank of its node, was blocked when that was last known.
bool Engine::is_awaited(const Descriptor &send) const
{
    auto peer = static_cast<uint32_t>(send.peer);
    return segment_->is_here(peer) ? segment_->rank(peer).blocked.load() : segment_->shared().elsewhere > 0;
}

// Non-blocking operations run no slice unless somebody is blocked on them; `background`: bytes are to move
// meanwhile.
uint32_t Engine::posted(uint32_t index, bool blocking, bool background)
{
    const Descriptor &one = segment_->descriptor(index);
    const Shared &shared = segment_->shared();
    bool wanted = one.kind == PSE_BCS_KIND_COLLECTIVE ? shared.blocked + shared.elsewhere > 0
                                                      : one.kind == PSE_BCS_KIND_SEND && is_awaited(one);
    bool goes_far = one.kind == PSE_BCS_KIND_SEND && !segment_->is_here(static_cast<uint32_t>(one.peer));
    protocol_.post(index);
    if (trace_)
        trace_->post(one);
    if (blocking || segment_->options().strict)
        return index;
    if (wanted)
        begin_slice();
    else if (background || goes_far)
        strobe();
    return index;
}

// A descriptor with what all kinds have, or none; with the lock held.
uint32_t Engine::describe(pse_bcs_kind kind, int32_t peer, int32_t tag, const void *data, uint64_t bytes)
{
    uint32_t index = allocate();
    if (index == none)
        return none;
    Descriptor &one = segment_->descriptor(index);
    one.kind = kind;
    one.peer = peer;
    one.tag = tag;
    one.address = reinterpret_cast<uint64_t>(data);
    one.bytes = bytes;
    return index;
}

uint32_t Engine::send(const void *data, uint64_t bytes, int32_t dest, int32_t tag, bool blocking,
                      const Context &context)
{
    Lock lock(*this);
    Guard guard(lock);
    uint32_t index = describe(PSE_BCS_KIND_SEND, dest, tag, data, bytes);
    if (index == none)
        return none;
    Descriptor &one = segment_->descriptor(index);
    set_context(one, context);
    one.held = 1;
    one.blocking = blocking;
    bool is_early = !segment_->options().strict && !context.synchronous;
    buffer_sends();
    one.sent = (unbuffered_.empty() || !bytes) && take_buffer(one) && is_early;
    // Who sends a small message goes on at once, and does not run a slice because it blocks.
    posted(index, blocking && !one.reads_payload, !one.reads_payload);
    if (is_early && !one.reads_payload && bytes <= PSE_BCS_EAGER)
        unbuffered_.emplace_back(index, one.sequence);
    segment_->rank(me_).unbuffered = static_cast<uint32_t>(unbuffered_.size());
    return index;
}

uint32_t Engine::receive(void *data, uint64_t bytes, int32_t source, int32_t tag, bool blocking,
                         const Context &context)
{
    Lock lock(*this);
    Guard guard(lock);
    uint32_t index = describe(PSE_BCS_KIND_RECEIVE, source, tag, data, bytes);
    if (index == none)
        return none;
    set_context(segment_->descriptor(index), context);
    segment_->descriptor(index).blocking = blocking;
    bool background = bytes > PSE_BCS_EAGER && !blocking;
    if (background)
        start_helper();
    return posted(index, blocking, background);
}

uint32_t Engine::probe(int32_t source, int32_t tag, const Context &context)
{
    Lock lock(*this);
    Guard guard(lock);
    uint32_t index = describe(PSE_BCS_KIND_PROBE, source, tag, nullptr, 0);
    if (index == none)
        return none;
    segment_->descriptor(index).blocking = 1;
    set_context(segment_->descriptor(index), context);
    return posted(index, true, false);
}

uint32_t Engine::collective(const Collection &what, Call call)
{
    Lock lock(*this);
    Guard guard(lock);
    auto combines = static_cast<int32_t>(call.reduction.meaning);
    uint32_t index = describe(PSE_BCS_KIND_COLLECTIVE, what.root, combines, what.data, what.bytes);
    if (index == none)
        return none;
    Descriptor &one = segment_->descriptor(index);
    size_t table = what.pieces.size() * sizeof(Piece);
    one.operation = what.operation;
    one.blocking = what.blocking;
    one.target = reinterpret_cast<uint64_t>(what.target);
    bool reduces = call.reduction.routine != nullptr;
    bool is_small = what.bytes + table <= (reduces ? PSE_BCS_WHOLE : PSE_BCS_EAGER);
    bool is_buffered = protocol_.take_buffer(one, table + (is_small ? what.bytes : 0));
    one.reads_payload = is_buffered && is_small;
    if (table && is_buffered)
        std::memcpy(segment_->payload(one), what.pieces.data(), table);
    if (one.reads_payload && what.bytes && what.data)
        std::memcpy(segment_->payload(one) + table, what.data, what.bytes);
    if (trace_)
        trace_->expect(what.pieces, call.target);
    call.pieces = what.pieces;
    one.pieces = table && !is_buffered ? reinterpret_cast<uint64_t>(call.pieces.data()) : 0;
    calls_[index] = std::move(call);
    bool background = !one.reads_payload && !what.blocking;
    if (background)
        start_helper();
    return posted(index, what.blocking, background);
}

bool Engine::is_done(uint32_t request) const
{
    return segment_->descriptor(request).is_done();
}

Status Engine::status(uint32_t request) const
{
    const Descriptor &one = segment_->descriptor(request);
    return {one.peer, one.tag, one.bytes, one.error != 0};
}

void Engine::release(uint32_t request)
{
    Lock lock(*this);
    Guard guard(lock);
    const Descriptor &one = segment_->descriptor(request);
    calls_.erase(request);
    if (one.kind == PSE_BCS_KIND_PROBE && one.state == State::exchanged)
        protocol_.withdraw(request);
    if (!trace_ || one.kind != PSE_BCS_KIND_SEND)
        return protocol_.release(request);
    sends_.push_back(request);
    if (sends_.size() > most_sends_)
        trace_sends();
}

// Sends are kept until they are matched, since the trace tells in which slice.
void Engine::trace_sends()
{
    auto is_told = [this](uint32_t request) {
        const Descriptor &one = segment_->descriptor(request);
        if (!one.matched)
            return false;
        trace_->add_match(one);
        protocol_.release(request);
        return true;
    };
    sends_.erase(std::remove_if(sends_.begin(), sends_.end(), is_told), sends_.end());
    most_sends_ = 2 * sends_.size();
}

bool Engine::cancel(uint32_t request)
{
    Lock lock(*this);
    Guard guard(lock);
    const Descriptor &one = segment_->descriptor(request);
    bool waits = one.state == State::posted || one.state == State::exchanged;
    if (one.kind == PSE_BCS_KIND_RECEIVE && waits)
        protocol_.withdraw(request);
    return one.kind == PSE_BCS_KIND_RECEIVE && waits;
}

void Engine::go_away()
{
    Lock lock(*this);
    Guard guard(lock);
    start_helper(); // It moves what comes meanwhile.
    while (work())
        continue;
    segment_->rank(me_).waits = Wait::away;
    protocol_.block(me_);
    begin_slice();
}

void Engine::come_back()
{
    Lock lock(*this);
    Guard guard(lock);
    keep_promise(guard);
    protocol_.unblock(me_);
    segment_->rank(me_).waits = Wait::idle;
}

void Engine::enter_call(uint32_t routine, const char *place)
{
    Lock lock(*this);
    Guard guard(lock);
    Rank &mine = segment_->rank(me_);
    size_t length = std::strlen(place), room = sizeof mine.place - 1;
    std::strcpy(mine.place, place + (length > room ? length - room : 0)); // Its end says more.
    mine.call = routine;
}

void Engine::leave_call()
{
    Lock lock(*this);
    Guard guard(lock);
    segment_->rank(me_).call = none;
}

bool Engine::is_satisfied(const std::vector<uint32_t> &requests, Wait mode)
{
    Rank &mine = segment_->rank(me_);
    auto done = [this](uint32_t request) { return is_done(request); };
    if (mode != Wait::one)
        return std::all_of(requests.begin(), requests.end(), done);
    auto found = std::find_if(requests.begin(), requests.end(), done);
    if (!segment_->options().ordered && found != requests.end())
        mine.answer = static_cast<uint32_t>(found - requests.begin());
    return mine.answer != none;
}

// Other nodes were told that this rank is blocked, and decide by that: it stays so until they have.
void Engine::keep_promise(Guard &guard)
{
    while (segment_->shared().promised && segment_->rank(me_).blocked.load() && !protocol_.has_failed()) {
        guard.unlock();
        pse_clock_sleep_until(pse_clock() + 100000);
        guard.lock();
    }
}

// The rank is blocked until somebody wakes it: a slice runs first, and who is last decides what waits for
// all.
pse_bcs_outcome Engine::sleep(Guard &guard, const std::vector<uint32_t> &requests)
{
    Rank &mine = segment_->rank(me_);
    if (!protocol_.block(me_))
        return PSE_BCS_WAIT_COMPLETE;
    uint32_t seen = pse_bcs_doorbells_read(bells_, me_);
    begin_slice();
    bool ends = segment_->options().strict && ends_with_slice(requests);
    const Shared &shared = segment_->shared();
    uint64_t boundary = ends ? shared.pace.begin_of(shared.slice + 1) : 0, awake = awake_time(requests);
    guard.unlock();
    if (ends)
        await(boundary);
    bool rang = true;
    while (rang && mine.blocked.load()) {
        rang = pse_bcs_doorbells_wait(bells_, me_, seen, look_, awake);
        seen = rang ? pse_bcs_doorbells_read(bells_, me_) : seen;
    }
    if (segment_->options().strict)
        pse_bcs_doorbells_note_core(bells_, me_);
    guard.lock();
    keep_promise(guard);
    bool interrupted = mine.blocked.load();
    if (interrupted)
        protocol_.unblock(me_);
    return interrupted ? PSE_BCS_WAIT_INTERRUPTED : PSE_BCS_WAIT_COMPLETE;
}

// Whether this rank has moved all that it waits for: then that is complete when the slice ends, unless others
// are slow.
bool Engine::ends_with_slice(const std::vector<uint32_t> &requests) const
{
    auto ends = [this](uint32_t request) {
        const Descriptor &one = segment_->descriptor(request);
        const Collective &operation = segment_->collective(one.number);
        bool rests = one.kind != PSE_BCS_KIND_COLLECTIVE || operation.round + 1 >= operation.rounds;
        return one.is_done() || (one.state == State::moved && rests);
    };
    return !requests.empty() && std::all_of(requests.begin(), requests.end(), ends);
}

// How long to look for the answer before this rank sleeps: not where large messages move first, or where only
// a strobe or another node brings it, whose thread may want this core.
uint64_t Engine::awake_time(const std::vector<uint32_t> &requests) const
{
    if (!segment_->is_single())
        return 0;
    auto is_small = [this](uint32_t request) { return segment_->descriptor(request).bytes <= PSE_BCS_EAGER; };
    bool soon = !segment_->options().strict && std::all_of(requests.begin(), requests.end(), is_small);
    return soon ? PSE_BCS_AWAKE : PSE_BACKOFF_AWAKE_FOR_BELL;
}

// Be awake when the next slice begins, so that this rank goes on at once.
void Engine::await(uint64_t boundary)
{
    own_timer_.sleep_until(boundary);
    const Rank &mine = segment_->rank(me_);
    while (mine.blocked.load() && pse_clock() < boundary + segment_->options().slice / 8)
        sched_yield();
}

pse_bcs_outcome Engine::wait(const std::vector<uint32_t> &requests, Wait mode)
{
    Lock lock(*this);
    Guard guard(lock);
    pse_bcs_outcome outcome =
        mode == Wait::all ? wait_until(guard, requests, mode) : wait_for_answer(guard, requests, mode);
    if (trace_ && outcome == PSE_BCS_WAIT_COMPLETE)
        trace_complete(requests, mode);
    return outcome;
}

void Engine::trace_complete(const std::vector<uint32_t> &requests, Wait mode)
{
    for (uint32_t place = 0; place < requests.size(); place++) {
        Descriptor &one = segment_->descriptor(requests[place]);
        if ((mode != Wait::one || place == answer()) && !std::exchange(one.traced, 1))
            trace_->complete(one);
    }
}

pse_bcs_outcome Engine::wait_for_answer(Guard &guard, const std::vector<uint32_t> &requests, Wait mode)
{
    Rank &mine = segment_->rank(me_);
    const pse_bcs_match *known = segment_->recorded(PSE_BCS_ANSWER, me_, mine.answers);
    pse_bcs_outcome outcome = known ? repeat(guard, requests, mode, static_cast<uint32_t>(known->send))
                                    : wait_until(guard, requests, mode);
    if (outcome != PSE_BCS_WAIT_COMPLETE && outcome != PSE_BCS_WAIT_INCOMPLETE)
        return outcome;
    uint32_t told = outcome == PSE_BCS_WAIT_INCOMPLETE ? none : mode == Wait::one ? mine.answer : 0;
    const Shared &shared = segment_->shared();
    segment_->log({shared.slice, shared.epoch, me_, me_, mine.answers++, told, 0, 0, PSE_BCS_ANSWER});
    return outcome;
}

// A test, or a wait for one of several, whose answer is known from a recorded schedule.
pse_bcs_outcome Engine::repeat(Guard &guard, const std::vector<uint32_t> &requests, Wait mode, uint32_t told)
{
    if (told == none)
        return PSE_BCS_WAIT_INCOMPLETE;
    if (mode == Wait::test)
        return wait_until(guard, requests, Wait::all);
    pse_bcs_outcome outcome = wait_until(guard, {requests.at(told)}, Wait::all);
    segment_->rank(me_).answer = told;
    return outcome;
}

pse_bcs_outcome Engine::wait_until(Guard &guard, const std::vector<uint32_t> &requests, Wait mode)
{
    Rank &mine = segment_->rank(me_);
    mine.tested = 0;
    mine.answer = none;
    pse_bcs_outcome outcome = PSE_BCS_WAIT_COMPLETE;
    bool looked = false;
    for (;;) {
        buffer_sends();
        if (protocol_.has_failed())
            outcome = PSE_BCS_WAIT_FAILED;
        else if (mine.tested) // What completes from now on does so for the next test.
            outcome = PSE_BCS_WAIT_INCOMPLETE;
        else if (is_satisfied(requests, mode))
            outcome = PSE_BCS_WAIT_COMPLETE;
        else if (work())
            continue;
        else if (looked)
            outcome = PSE_BCS_WAIT_INCOMPLETE;
        else if (mode == Wait::test && !segment_->options().ordered) {
            if (!segment_->options().strict)
                begin_slice();
            looked = true; // What the slice has brought is the answer.
            continue;
        } else {
            mine.waits = mode;
            protocol_.await(me_, requests);
            outcome = sleep(guard, requests);
            for (uint32_t request : requests)
                segment_->descriptor(request).awaited = 0;
            mine.waits = Wait::idle;
            if (outcome == PSE_BCS_WAIT_COMPLETE)
                continue;
        }
        return outcome;
    }
}

void Engine::start_helper()
{
    Rank &mine = segment_->rank(me_);
    if (mine.has_helper)
        return;
    mine.has_helper = 1;
    helper_ = start(&Engine::help);
}

// What moves bytes while the rank computes.
void Engine::help()
{
    Rank &mine = segment_->rank(me_);
    Lock lock(*this);
    while (!stopping_.load()) {
        uint32_t seen = mine.helper.load();
        Guard guard(lock);
        bool is_free = !mine.blocked.load() || mine.waits == Wait::away;
        bool worked = is_free && !protocol_.has_failed() && work();
        if (worked)
            protocol_.settle();
        guard.unlock();
        if (!worked)
            futex_wait(mine.helper, seen);
    }
}

// The strobe sender: it begins a slice at each boundary, as long as there is something to do.
void Engine::send_strobes()
{
    Shared &shared = segment_->shared();
    bool strict = segment_->options().strict;
    uint32_t idle = 0;
    be_on_time();
    Lock lock(*this);
    while (!stopping_.load()) {
        uint32_t seen = shared.strobe.load();
        if (!shared.armed.load()) {
            futex_wait(shared.strobe, seen);
            continue;
        }
        if (!await_permission())
            continue;
        uint64_t deadline = shared.pace.boundary_after(pse_clock()); // Only this thread changes the pace.
        if (strict)
            strobe_timer_.sleep_until(deadline, [this] { return is_core_wanted(); });
        else
            pse_clock_sleep_until(deadline);
        Guard guard(lock);
        if (shared.sender != me_)
            return;
        if (!protocol_.may_begin())
            continue;
        shared.armed.store(0);
        if (protocol_.has_failed())
            continue;
        if (protocol_.is_strobed()) {
            protocol_.strobe_nodes(deadline);
            continue;
        }
        idle = protocol_.run_slice(deadline) ? 0 : idle + 1;
        protocol_.settle();
        if (protocol_.needs_strobe() || (strict && idle < linger))
            shared.armed.store(1);
    }
}

// Whether a rank computes on this thread's core.
bool Engine::is_core_wanted() const
{
    auto core = static_cast<uint32_t>(sched_getcpu());
    for (uint32_t rank = 0; rank < segment_->options().ranks; rank++)
        if (!segment_->rank(rank).blocked.load() && pse_bcs_doorbells_is_on(bells_, rank, core))
            return true;
    return false;
}

// Sleep until a slice may begin; without a stepper, all may.
bool Engine::await_permission()
{
    Shared &shared = segment_->shared();
    uint32_t seen = shared.permits.load();
    if (protocol_.may_begin())
        return true;
    futex_wait(shared.permits, seen, look_for_stepper);
    if (segment_->options().node == 0 && !is_stepped(*segment_)) { // Other nodes are told.
        shared.allowed.store(unlimited);
        nodes();
    }
    return false;
}

// Whoever ends without leaving is noticed at once: the kernel says so.  Whoever stands still is looked for.
void Engine::watch()
{
    std::vector<pollfd> ends;
    for (int peer : peers_)
        ends.push_back({peer, POLLIN, 0});
    ends.push_back({stop_event_, POLLIN, 0});
    Lock lock(*this);
    while (!stopping_.load()) {
        if (poll(ends.data(), ends.size(), look_ms) <= 0) {
            look_around();
            continue;
        }
        for (uint32_t peer = 0; peer < peers_.size(); peer++) {
            if (!(ends[peer].revents & POLLIN))
                continue;
            ends[peer].fd = -1;
            Guard guard(lock);
            if (!segment_->rank(peer).left)
                protocol_.fail(PSE_BCS_FAILURE_DEAD, peer, none);
        }
    }
}

void Engine::look_around()
{
    Lock lock(*this);
    Guard guard(lock);
    watchdog_->look();
}

} // namespace pse::coschedule
