#include "protocol.hpp"

#include <algorithm>
#include <utility>

namespace pse::coschedule
{
namespace
{

bool is_match(const Descriptor &receive, const Descriptor &send)
{
    return receive.context == send.context &&
           (receive.peer == any || receive.peer == static_cast<int32_t>(send.owner)) &&
           (receive.tag == any || receive.tag == send.tag);
}

// Sends that were all there when all ranks were blocked, in an order that is a function of the program alone.
bool comes_before(const Descriptor &one, const Descriptor &other)
{
    if (one.epoch != other.epoch)
        return one.epoch < other.epoch;
    return one.owner != other.owner ? one.owner < other.owner : one.sequence < other.sequence;
}

bool is_reduction(uint32_t operation)
{
    return operation == PSE_BCS_REDUCE || operation == PSE_BCS_ALLREDUCE || operation == PSE_BCS_SCAN ||
           operation == PSE_BCS_EXSCAN;
}

// Large arrays are reduced piece by piece, and then the pieces are collected.
uint32_t rounds_of(const Descriptor &part)
{
    bool pieces = part.operation == PSE_BCS_REDUCE || part.operation == PSE_BCS_ALLREDUCE;
    return pieces && part.bytes > PSE_BCS_WHOLE ? 2 : 1;
}

// Nobody else reads the buffer of this part, or no longer.
bool is_unread(const Descriptor &part)
{
    bool root = static_cast<int32_t>(part.owner) == part.peer;
    if (part.pieces)
        return false;
    switch (part.operation) {
    case PSE_BCS_BCAST:
    case PSE_BCS_SCATTER:
        return part.reads_payload || !root;
    case PSE_BCS_GATHER:
        return part.reads_payload || root;
    default:
        return part.reads_payload || part.bytes == 0;
    }
}

} // namespace

uint32_t Protocol::allocate(uint32_t rank)
{
    uint32_t index = s_.take_descriptor(rank);
    if (index != none) {
        s_.descriptor(index) = Descriptor{};
        s_.descriptor(index).owner = rank;
        s_.descriptor(index).match = s_.descriptor(index).buffer = none;
    }
    return index;
}

bool Protocol::take_buffer(Descriptor &one, uint64_t bytes) const
{
    if (bytes && bytes <= PSE_BCS_EAGER)
        one.buffer = s_.take_buffer(one);
    return !bytes || one.buffer != none;
}

void Protocol::post(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    Rank &rank = s_.rank(one.owner);
    one.state = State::posted;
    one.epoch = s_.shared().epoch;
    one.sequence = rank.sequence++;
    if (one.kind == PSE_BCS_KIND_COLLECTIVE) {
        one.number = rank.collectives++;
        s_.push(rank.deferred, index);
        post_deferred(one.owner);
    } else {
        s_.push(rank.posted, index);
    }
    if (s_.options().strict)
        platform_.strobe();
}

// Collective operations of a rank that have a place among those under way.
bool Protocol::post_deferred(uint32_t rank)
{
    List &deferred = s_.rank(rank).deferred;
    bool posted = false;
    for (uint32_t index = deferred.head; index != none; index = deferred.head) {
        uint64_t number = s_.descriptor(index).number;
        if (s_.collective(number).number != number)
            break;
        s_.push(s_.rank(rank).posted, s_.pop(deferred));
        posted = true;
    }
    return posted;
}

void Protocol::release(uint32_t index)
{
    s_.descriptor(index).released = 1;
    collect(index);
}

void Protocol::withdraw(uint32_t index)
{
    Rank &owner = s_.rank(s_.descriptor(index).owner);
    List &receives = s_.descriptor(index).state == State::posted ? owner.posted : owner.receives;
    uint32_t previous = none;
    for (uint32_t one = receives.head; one != none && one != index; one = s_.descriptor(one).next)
        previous = one;
    s_.remove(receives, previous, index);
    complete(index);
}

void Protocol::collect(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    if (one.state != State::done || !one.released || one.held)
        return;
    one.state = State::free;
    s_.push_front(s_.rank(one.owner).free, index); // Its memory is warm.
}

// A descriptor that others read from the payload is complete for its owner at once, but not free.
void Protocol::complete(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    if (one.state == State::done)
        return;
    one.state = State::done;
    Rank &rank = s_.rank(one.owner);
    if (one.awaited) {
        rank.first = std::min(rank.first, one.awaited - 1);
        one.awaited = 0;
        rank.outstanding--;
        // Which one is first done depends on timing: where that must not be, it is told when all are blocked.
        if (rank.waits == Wait::one ? !s_.options().ordered : rank.outstanding == 0)
            unblock(one.owner);
    }
    collect(index);
}

bool Protocol::await(uint32_t index, const std::vector<uint32_t> &requests)
{
    Rank &rank = s_.rank(index);
    rank.outstanding = 0;
    rank.first = none;
    for (uint32_t place = 0; place < requests.size(); place++) {
        Descriptor &one = s_.descriptor(requests[place]);
        one.awaited = one.is_done() ? 0 : place + 1;
        rank.outstanding += !one.is_done();
        rank.first = std::min(rank.first, one.is_done() ? place : none);
    }
    return rank.outstanding > 0;
}

bool Protocol::block(uint32_t index)
{
    Rank &rank = s_.rank(index);
    if (rank.ready.head != none)
        return false;
    rank.blocked.store(1);
    s_.shared().blocked++;
    if (s_.shared().cut_off.load())
        settle();
    return true;
}

void Protocol::unblock(uint32_t index)
{
    Rank &rank = s_.rank(index);
    if (!s_.is_here(index) || !rank.blocked.exchange(0))
        return;
    s_.shared().blocked--;
    s_.shared().reported = 0;
    platform_.rank(index);
}

void Protocol::make_ready(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    Rank &rank = s_.rank(one.owner);
    one.state = State::ready;
    s_.push(rank.ready, index);
    s_.shared().moving++;
    s_.shared().reported = 0;
    bool away = rank.waits == Wait::away;
    if (rank.blocked.load() && !away)
        unblock(one.owner);
    else if (away || (rank.has_helper && is_large(one)))
        platform_.helper(one.owner);
}

// It is worth to wake a thread for it.
bool Protocol::is_large(const Descriptor &one) const
{
    const Descriptor &source = one.kind == PSE_BCS_KIND_RECEIVE ? s_.descriptor(one.match) : one;
    return !source.reads_payload && source.bytes > 0;
}

void Protocol::postpone(uint32_t index, State state)
{
    uint32_t owner = s_.descriptor(index).owner;
    s_.descriptor(index).state = state;
    s_.push(s_.rank(owner).later, index);
    platform_.strobe();
    if (state == State::moved && s_.rank(owner).waits != Wait::away)
        unblock(owner); // It sees that it goes on when the slice ends, and is awake then.
}

bool Protocol::run_slice(uint64_t deadline)
{
    Shared &shared = s_.shared();
    pse_bcs_slice record{};
    record.slice = s_.options().strict ? shared.pace.slice_at(deadline) : shared.slice + s_.is_single();
    record.usrdem = std::exchange(shared.usrdem, 0);
    record.usrmsm = std::exchange(shared.usrmsm, 0);
    shared.slice = record.slice;
    bool worked = begin(record, deadline);
    platform_.microstrobe();
    note_exchange(record);
    schedule(record);
    platform_.microstrobe();
    note_slice(record);
    return worked;
}

// Up to the end of the descriptor exchange on this node.
bool Protocol::begin(pse_bcs_slice &record, uint64_t deadline)
{
    Shared &shared = s_.shared();
    shared.begun.fetch_add(1);
    record.begin = is_timed() || deadline ? platform_.now() : 0;
    if (deadline)
        keep_time(record, deadline);
    record.bpts = shared.blocked;
    bool resumed = exchange(record);
    return resumed || record.np2pdem || record.ncolldem;
}

// A slice with a time has begun.
void Protocol::keep_time(pse_bcs_slice &record, uint64_t deadline)
{
    Shared &shared = s_.shared();
    record.late = record.begin > deadline ? record.begin - deadline : 0;
    record.timed = 1;
    shared.timed++;
    shared.late += shared.pace.is_late(record.late);
    if (shared.pace.falls_behind(record.late) && s_.options().adapted)
        shared.pace.lengthen(deadline);
}

void Protocol::note_exchange(pse_bcs_slice &record)
{
    record.gtdem = is_timed() ? platform_.now() - record.begin : 0;
}

void Protocol::note_slice(pse_bcs_slice &record)
{
    if (!is_timed())
        return;
    Shared &shared = s_.shared();
    record.epoch = shared.epoch;
    record.getts = shared.previous ? record.begin - shared.previous : 0;
    record.gtts = platform_.now() - record.begin;
    record.gtmsm = record.gtts - record.gtdem;
    record.length = shared.pace.length;
    shared.previous = record.begin;
    if (s_.options().traced)
        platform_.ended(record);
    if (is_monitored())
        s_.slices()[shared.recorded++ % s_.options().monitored] = record;
}

// What is done after a slice counts as its part.
pse_bcs_slice &Protocol::last_slice()
{
    uint64_t noted = s_.shared().recorded;
    return noted ? s_.slices()[(noted - 1) % s_.options().monitored] : before_;
}

void Protocol::note_move(const Descriptor &one, uint64_t took)
{
    pse_bcs_slice &slice = last_slice();
    if (one.kind == PSE_BCS_KIND_RECEIVE)
        slice.ltr_message += took;
    else
        (is_reduction(one.operation) ? slice.ltr_reduce : slice.ltr_broadcast) += took;
}

// Descriptor exchange microphase: sends go to where they are received, all in the order of ranks.  Says
// whether something went on that had waited for this slice.
bool Protocol::exchange(pse_bcs_slice &record)
{
    RoutineTime time(*this, record.ltr_exchange);
    bool resumed = false;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        Rank &one = s_.rank(rank);
        for (uint32_t index; (index = s_.pop(one.later)) != none;) {
            Descriptor &waited = s_.descriptor(index);
            resumed = true;
            if (waited.state != State::moved)
                make_ready(index);
            else if (waited.kind == PSE_BCS_KIND_COLLECTIVE)
                let_go(index);
            else
                finish_message(index);
        }
        for (uint32_t index; (index = s_.pop(one.posted)) != none;) {
            Descriptor &posted = s_.descriptor(index);
            posted.state = State::exchanged;
            if (posted.kind == PSE_BCS_KIND_COLLECTIVE) {
                tell(News::posted, index, true);
                join(index, record);
            } else if (posted.kind == PSE_BCS_KIND_SEND) {
                deliver(index);
            } else {
                s_.push(one.receives, index);
            }
            record.np2pdem += posted.kind != PSE_BCS_KIND_COLLECTIVE;
        }
    }
    return resumed;
}

void Protocol::deliver(uint32_t index)
{
    auto peer = static_cast<uint32_t>(s_.descriptor(index).peer);
    if (s_.is_here(peer))
        s_.push(s_.rank(peer).arrivals, index);
    else
        tell(News::posted, index, true);
}

// Message scheduling microphase.
void Protocol::schedule(pse_bcs_slice &record)
{
    RoutineTime time(*this, record.ltr_match);
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        if (s_.rank(rank).receives.head != none && s_.rank(rank).arrivals.head != none)
            record.np2pmsm += match(rank, !s_.options().ordered);
}

bool Protocol::fits(const Collective &operation, const Descriptor &first, const Descriptor &one) const
{
    if (operation.kind != static_cast<uint32_t>(one.operation) || operation.root != one.peer)
        return false;
    bool equal = is_reduction(operation.kind) || operation.kind == PSE_BCS_BCAST;
    return !equal || (operation.bytes == one.bytes && first.tag == one.tag);
}

void Protocol::join(uint32_t index, pse_bcs_slice &record)
{
    Descriptor &one = s_.descriptor(index);
    Collective &operation = s_.collective(one.number);
    record.ncolldem++;
    if (!operation.used)
        operation = Collective{one.number,
                               static_cast<uint32_t>(one.operation),
                               one.peer,
                               one.bytes,
                               0,
                               0,
                               0,
                               rounds_of(one),
                               one.owner + 1,
                               0};
    uint32_t first = operation.used - 1;
    if (operation.arrived && !fits(operation, s_.descriptor(s_.part(one.number, first)), one))
        return fail(PSE_BCS_FAILURE_MISMATCH, first, one.owner);
    s_.part(one.number, one.owner) = index;
    operation.lasts |= one.pieces || (!one.reads_payload && one.bytes);
    one.held = 1;
    if (++operation.arrived == s_.options().ranks) {
        record.ncollmsm++;
        begin_round(operation);
    }
}

void Protocol::begin_round(Collective &operation)
{
    operation.left = s_.options().ranks;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        uint32_t index = s_.part(operation.number, rank);
        s_.descriptor(index).round = operation.round;
        if (operation.round == 0)
            note_time(s_.descriptor(index));
        if (s_.is_here(rank))
            make_ready(index);
    }
}

// Whether an earlier receive, still undecided, may get this send.
bool Protocol::is_held(uint32_t rank, uint32_t receive, const Descriptor &send) const
{
    for (uint32_t index = s_.rank(rank).receives.head; index != receive; index = s_.descriptor(index).next) {
        const Descriptor &earlier = s_.descriptor(index);
        if (earlier.kind == PSE_BCS_KIND_RECEIVE && earlier.peer == any && is_match(earlier, send))
            return true;
    }
    return false;
}

uint32_t Protocol::find(uint32_t rank, uint32_t receive, uint32_t &previous, bool decide) const
{
    const Descriptor &one = s_.descriptor(receive);
    const pse_bcs_match *known = s_.recorded(PSE_BCS_MATCH, rank, one.sequence);
    uint32_t best = none, before = none;
    for (uint32_t index = s_.rank(rank).arrivals.head; index != none; index = s_.descriptor(index).next) {
        const Descriptor &send = s_.descriptor(index);
        bool fits = known ? known->source == send.owner && known->send == send.sequence
                          : is_match(one, send) && (decide || !is_held(rank, receive, send));
        if (fits && (best == none || comes_before(send, s_.descriptor(best)))) {
            best = index;
            previous = before;
        }
        if (fits && one.peer != any) // Those of one rank are in their order.
            break;
        before = index;
    }
    return best;
}

uint32_t Protocol::match(uint32_t rank, bool decide)
{
    Rank &one = s_.rank(rank);
    uint32_t matched = 0, before = none;
    for (uint32_t index = one.receives.head; index != none;) {
        Descriptor &receive = s_.descriptor(index);
        uint32_t next = receive.next, previous = none;
        bool waits = receive.peer == any && !decide;
        uint32_t send = waits ? none : find(rank, index, previous, decide);
        if (send == none) {
            before = index;
        } else {
            s_.remove(one.receives, before, index);
            if (receive.kind == PSE_BCS_KIND_RECEIVE) {
                s_.remove(one.arrivals, previous, send);
                pair(index, send);
            } else {
                answer(index, send);
            }
            matched++;
        }
        index = next;
    }
    return matched;
}

void Protocol::pair(uint32_t receive, uint32_t send)
{
    Descriptor &into = s_.descriptor(receive), &from = s_.descriptor(send);
    into.match = send;
    into.peer = static_cast<int32_t>(from.owner);
    into.tag = from.tag;
    into.error = from.bytes > into.bytes;
    into.bytes = from.bytes < into.bytes ? from.bytes : into.bytes;
    from.state = from.state == State::done ? State::done : State::moving;
    note_match(into, from);
    note_time(into);
    note_time(from);
    make_ready(receive);
}

void Protocol::note_match(const Descriptor &receive, const Descriptor &send)
{
    const Shared &shared = s_.shared();
    s_.log({shared.slice, shared.epoch, receive.owner, send.owner, receive.sequence, send.sequence,
            send.bytes, send.tag, PSE_BCS_MATCH});
}

void Protocol::note_time(Descriptor &matched) const
{
    if (!s_.options().traced)
        return;
    matched.slice = s_.shared().slice;
    matched.matched = platform_.now();
}

void Protocol::answer(uint32_t probe, uint32_t send)
{
    Descriptor &one = s_.descriptor(probe);
    const Descriptor &found = s_.descriptor(send);
    one.peer = static_cast<int32_t>(found.owner);
    one.tag = found.tag;
    one.bytes = found.bytes;
    note_match(one, found);
    note_time(one);
    complete(probe);
}

uint64_t Protocol::chunk_of(const Descriptor &receive) const
{
    uint64_t per_ns = s_.options().chunk / s_.options().slice;
    return std::min(receive.bytes - receive.moved, per_ns * s_.shared().pace.length);
}

void Protocol::finish(uint32_t index, uint64_t bytes)
{
    Descriptor &one = s_.descriptor(index);
    s_.shared().moving--;
    one.moved += bytes;
    if (one.kind == PSE_BCS_KIND_COLLECTIVE)
        return finish_part(index);
    bool whole = one.moved >= one.bytes;
    if (whole && !s_.options().strict)
        return finish_message(index);
    // The rest, or in strict mode the end, belongs to the next slice.
    postpone(index, whole ? State::moved : State::moving);
}

void Protocol::finish_message(uint32_t index)
{
    let_go(s_.descriptor(index).match);
    let_go(index);
}

// Nobody else reads it any more.
void Protocol::let_go(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    one.held = 0;
    if (!s_.is_here(one.owner)) {
        one.state = State::free;
        return tell(News::received, index, !one.sent);
    }
    const Rank &owner = s_.rank(one.owner);
    if (one.buffer != none && owner.unbuffered && owner.waits != Wait::away)
        unblock(one.owner); // One of its sends gets the buffer.
    s_.give_back(one);
    one.state == State::done ? collect(index) : complete(index);
}

void Protocol::finish_part(uint32_t index)
{
    Descriptor &one = s_.descriptor(index);
    Collective &operation = s_.collective(one.number);
    bool last_round = operation.round + 1 == operation.rounds;
    one.state = State::moved;
    if (last_round && is_unread(one) && !s_.options().strict)
        complete(index);
    tell(News::performed, index, operation.lasts || !last_round);
    count_down(operation);
}

void Protocol::count_down(Collective &operation)
{
    if (--operation.left)
        return;
    operation.round++;
    if (operation.round < operation.rounds)
        begin_round(operation);
    else
        end(operation);
}

void Protocol::end(Collective &operation)
{
    operation.used = 0;
    uint64_t number = std::exchange(operation.number, operation.number + in_flight);
    bool posted = false;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        uint32_t index = s_.part(number, rank);
        if (!s_.is_here(rank))
            s_.descriptor(index).state = State::free;
        else if (s_.options().strict && !hears_) // Else the next slice has begun.
            postpone(index, State::moved);
        else
            let_go(index);
        posted |= post_deferred(rank);
    }
    if (posted)
        platform_.strobe();
}

bool Protocol::is_quiescent() const
{
    const Shared &shared = s_.shared();
    if (shared.moving || shared.blocked + shared.left < s_.options().neighbours)
        return false;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        if (s_.rank(rank).posted.head != none || s_.rank(rank).later.head != none)
            return false;
    return shared.blocked > 0 || !s_.is_single();
}

bool Protocol::needs_strobe() const
{
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        if (s_.rank(rank).later.head != none || (s_.options().strict && s_.rank(rank).posted.head != none))
            return true;
    return false;
}

bool Protocol::wants_nodes() const
{
    const Shared &shared = s_.shared();
    return !has_failed() && (shared.urgent || (!shared.reported && is_quiescent()));
}

void Protocol::settle()
{
    const Shared &shared = s_.shared();
    if (shared.cut_off.load()) {
        if (shared.blocked && !shared.moving && shared.blocked + shared.left >= s_.options().neighbours)
            fail(PSE_BCS_FAILURE_LEFT, none, none);
    } else if (!s_.is_single()) {
        if (wants_nodes())
            platform_.nodes();
    } else if (is_quiescent() && !decide(last_slice())) {
        fail(s_.shared().left ? PSE_BCS_FAILURE_LEFT : PSE_BCS_FAILURE_DEADLOCK, none, none);
    }
}

// All ranks are blocked: says whether anything goes on.
bool Protocol::decide(pse_bcs_slice &record)
{
    RoutineTime time(*this, record.ltr_decide);
    s_.shared().epoch++;
    uint32_t decided = 0;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        decided += match(rank, true);
    return decided || release_testers();
}

bool Protocol::has_testers() const
{
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        const Rank &one = s_.rank(rank);
        bool chooses = one.waits == Wait::one && one.first != none;
        if (one.blocked.load() && (one.waits == Wait::away || one.waits == Wait::test || chooses))
            return true;
    }
    return false;
}

bool Protocol::release_testers()
{
    bool released = false;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        Rank &one = s_.rank(rank);
        released |= one.blocked.load() && one.waits == Wait::away; // Only it knows whether it goes on.
        bool tests = one.waits == Wait::test, chooses = one.waits == Wait::one && one.first != none;
        if (!one.blocked.load() || !(tests || chooses))
            continue;
        one.tested = tests;
        one.answer = one.first;
        unblock(rank);
        released = true;
    }
    return released;
}

void Protocol::tell(News news, uint32_t index, bool urgent)
{
    if (s_.is_single())
        return;
    Shared &shared = s_.shared();
    const Descriptor &one = s_.descriptor(index);
    s_.records()[shared.told_nodes++] = {news, index, news == News::received ? one.slice : one.partial};
    shared.urgent |= urgent || s_.options().strict;
}

void Protocol::leave(uint32_t rank)
{
    s_.rank(rank).left = 1;
    s_.shared().left++;
}

void Protocol::fail(pse_bcs_failure failure, uint32_t culprit, uint32_t other)
{
    Shared &shared = s_.shared();
    if (has_failed())
        return;
    shared.culprit = culprit;
    shared.other = other;
    shared.failure.store(failure);
    if (!s_.is_single())
        platform_.nodes();
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++)
        unblock(rank);
}

} // namespace pse::coschedule
