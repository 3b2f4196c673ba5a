#include "simulation.hpp"

#include <algorithm>
#include <utility>

namespace pse::coschedule
{
namespace
{

constexpr uint64_t record_bytes = sizeof(Packet) + sizeof(Record);

} // namespace

Simulation::Simulation(const Options &options, const Costs &costs, uint32_t ranks_per_node, Acts acts)
    : segment_(options), protocol_(segment_, *this), costs_(costs), per_node_(ranks_per_node),
      nodes_((options.ranks + ranks_per_node - 1) / ranks_per_node), acts_(std::move(acts)),
      ranks_(options.ranks), loads_(nodes_), links_(nodes_)
{
    segment_.shared().pace = {options.slice, 0};
    if (nodes_ > 1 && costs_.fan == 0)
        network_.reset(new SliceNetwork(nodes_, costs_));
    for (uint32_t rank = 0; rank < options.ranks; rank++) {
        segment_.rank(rank).has_helper = 1;
        ranks_[rank].next = acts_.begins[rank];
    }
}

bool Simulation::run()
{
    for (uint32_t rank = 0; rank < ranks_.size(); rank++)
        push(Kind::go_on, 0, rank);
    while (!events_.empty() && !protocol_.has_failed()) {
        Event event = events_.top();
        events_.pop();
        now_ = event.time;
        handle(event);
    }
    return segment_.shared().left == ranks_.size();
}

void Simulation::push(Kind kind, double after, uint32_t rank, uint32_t index, uint64_t bytes)
{
    events_.push({now_ + static_cast<uint64_t>(after), numbers_++, kind, rank, index, bytes});
}

void Simulation::handle(const Event &event)
{
    switch (event.kind) {
    case Kind::strobe:
        return due();
    case Kind::go_on:
        return go_on(event.rank);
    case Kind::help:
        ranks_[event.rank].helped = false;
        if (!segment_.rank(event.rank).blocked.load())
            move(event.rank, protocol_.take_ready(event.rank), Kind::help);
        return;
    case Kind::moved:
        tell_moved(event.index, event.bytes);
        protocol_.finish(event.index, event.bytes);
    }
}

// A slice begins now; of several nodes not before all have ended the last one, as Protocol has it.
void Simulation::due()
{
    armed_ = false;
    if (!network_)
        return begin_slice();
    bool over = now_ >= coordinated_, heard = now_ >= network_->all_heard();
    segment_.shared().stage = over ? Stage::over : heard ? Stage::scheduling : Stage::exchange;
    protocol_.strobe_nodes(now_);
}

// Descriptors that are posted while nodes still agree on this slice belong to the next one: for those who
// post them the time is what it was.
void Simulation::begin_slice()
{
    uint64_t deadline = now_;
    bool strict = segment_.options().strict;
    segment_.shared().due = 0;
    phase_ = 0;
    scheduling_ = true;
    now_ += static_cast<uint64_t>(multicast());
    protocol_.run_slice(strict ? deadline : 0);
    scheduling_ = false;
    for (const Woken &one : std::exchange(woken_, {}))
        events_.push({goes_on_at(one), numbers_++, Kind::go_on, one.rank, none, 0});
    if (protocol_.is_quiescent())
        protocol_.settle();
    std::fill(loads_.begin(), loads_.end(), Load{});
    coordinated_ = now_;
    now_ = deadline;
    if (protocol_.needs_strobe())
        strobe();
}

// Bytes move when the schedule is known on all nodes; of those that are a tree, on the rank's.
uint64_t Simulation::goes_on_at(const Woken &one) const
{
    uint32_t node = one.rank / per_node_;
    uint64_t known = !network_ ? now_ : one.phase == 0 ? network_->heard(node) : network_->ended(node);
    return known + static_cast<uint64_t>(costs_.wake);
}

// Slices begin at their time, or, without strict ones, when all that happens at this moment has happened.
void Simulation::strobe()
{
    if (std::exchange(armed_, true))
        return;
    uint64_t free = network_ ? now_ : std::max(now_, coordinated_);
    uint64_t begin = segment_.options().strict ? segment_.shared().pace.boundary_after(free) : now_;
    events_.push({begin, numbers_++, Kind::strobe, none, none, 0});
}

uint32_t Simulation::levels() const
{
    uint32_t found = 0;
    for (uint64_t reached = 1; reached < nodes_; reached *= costs_.fan)
        found++;
    return found;
}

double Simulation::multicast() const
{
    return nodes_ > 1 && !network_ ? costs_.first + levels() * costs_.level : 0;
}

// Of the node that has most of it.
double Simulation::work(double per_exchanged, double per_received) const
{
    double most = 0;
    for (const Load &one : loads_)
        most = std::max(most, static_cast<double>(one.exchanged) * per_exchanged +
                                  static_cast<double>(one.received) * per_received);
    return most;
}

// Compare-And-Write is a multicast of the question, and the answers on the way back.
void Simulation::microstrobe()
{
    if (network_) {
        if (phase_ == 0)
            network_->run(now_, loads_);
        now_ = phase_++ == 0 ? network_->all_heard() : network_->all_ended();
        return;
    }
    double wire = nodes_ > 1 ? static_cast<double>(sizeof(Descriptor)) * costs_.beta : 0;
    bool exchanges = phase_++ == 0;
    double local = exchanges ? work(costs_.descriptor + wire, 0) + (nodes_ > 1 ? costs_.alpha : 0)
                             : work(0, costs_.match);
    now_ += static_cast<uint64_t>(costs_.slice / 2 + local + 3 * multicast());
}

void Simulation::rank(uint32_t rank)
{
    if (scheduling_ && (phase_ > 0 || network_))
        woken_.push_back({rank, phase_});
    else
        push(Kind::go_on, costs_.wake, rank);
}

void Simulation::helper(uint32_t rank)
{
    if (!std::exchange(ranks_[rank].helped, true))
        push(Kind::help, costs_.wake, rank);
}

// Who computes goes on when that has ended, and nothing else is for it.
void Simulation::go_on(uint32_t rank)
{
    if (now_ < ranks_[rank].busy || segment_.rank(rank).left)
        return;
    while (act(rank))
        continue;
}

// False: the rank computes, waits, moves bytes or has come to its end.
bool Simulation::act(uint32_t rank)
{
    Virtual &one = ranks_[rank];
    if (one.waits && !ends_wait(rank))
        return false;
    if (one.next == acts_.begins[rank + 1]) {
        end_ = std::max(end_, now_);
        protocol_.leave(rank);
        return false;
    }
    const pse_bcs_act &what = acts_.all[one.next];
    bool computes = what.kind == PSE_BCS_ACT_COMPUTE;
    one.waits = what.kind == PSE_BCS_ACT_WAIT;
    if (!computes && !one.waits)
        post(rank, what);
    one.next++;
    if (computes) {
        one.busy = now_ + what.amount;
        push(Kind::go_on, static_cast<double>(what.amount), rank);
    }
    return !computes;
}

void Simulation::describe(Descriptor &one, const pse_bcs_act &what) const
{
    bool collective = what.kind == PSE_BCS_ACT_COLLECTIVE;
    one.kind = static_cast<pse_bcs_kind>(what.kind);
    one.peer = what.peer;
    one.bytes = what.amount;
    one.operation = collective ? static_cast<pse_bcs_collective>(what.tag) : PSE_BCS_BARRIER;
    one.tag = collective ? 0 : what.tag;
    one.held = what.kind == PSE_BCS_ACT_SEND;
    bool reduces = collective && (one.operation == PSE_BCS_REDUCE || one.operation == PSE_BCS_ALLREDUCE);
    bool is_small = what.amount <= (reduces ? PSE_BCS_WHOLE : PSE_BCS_EAGER);
    bool travels = what.kind != PSE_BCS_ACT_RECEIVE && is_small;
    one.reads_payload = travels && protocol_.take_buffer(one, what.amount);
    one.sent = one.held && one.reads_payload && !segment_.options().strict;
}

void Simulation::post(uint32_t rank, const pse_bcs_act &what)
{
    uint32_t index = protocol_.allocate(rank);
    if (index == none)
        return protocol_.fail(PSE_BCS_FAILURE_FULL, rank, none);
    describe(segment_.descriptor(index), what);
    Load &load = loads_[rank / per_node_];
    load.exchanged++;
    load.received += what.kind == PSE_BCS_ACT_RECEIVE;
    if (what.kind == PSE_BCS_ACT_SEND)
        loads_[static_cast<uint32_t>(what.peer) / per_node_].exchanged++;
    ranks_[rank].requests.push_back(index);
    protocol_.post(index);
    tell(segment_.descriptor(index));
    if (!segment_.options().strict)
        strobe();
}

// As Engine::wait_until has it: move what can be moved, go on if all is done, or else block.
bool Simulation::ends_wait(uint32_t rank)
{
    std::vector<uint32_t> &requests = ranks_[rank].requests;
    Rank &mine = segment_.rank(rank);
    uint32_t ready = protocol_.take_ready(rank);
    if (ready != none) {
        move(rank, ready, Kind::go_on);
        return false;
    }
    mine.waits = Wait::all;
    if (protocol_.await(rank, requests)) {
        protocol_.block(rank);
        return false;
    }
    mine.waits = Wait::idle;
    for (uint32_t request : std::exchange(requests, {}))
        protocol_.release(request);
    ranks_[rank].waits = false;
    return true;
}

// What a posted descriptor is for other nodes (Protocol::write).
void Simulation::tell(const Descriptor &one)
{
    if (!network_ || one.kind == PSE_BCS_KIND_RECEIVE)
        return;
    uint32_t from = one.owner / per_node_;
    bool to_all = one.kind == PSE_BCS_KIND_COLLECTIVE;
    uint32_t to = to_all ? every_node : static_cast<uint32_t>(one.peer) / per_node_;
    if (from == to)
        return;
    bool straight = segment_.goes_straight(one);
    uint64_t payload = segment_.payload_bytes(one);
    network_->tell(from, to, record_bytes + sizeof(Descriptor) + (straight ? 0 : payload));
    if (straight)
        network_->send(from, to, sizeof(Descriptor) + payload);
}

// Its owner is told that it was received, all that a part was performed.
void Simulation::tell_moved(uint32_t index, uint64_t bytes)
{
    const Descriptor &one = segment_.descriptor(index);
    uint32_t here = one.owner / per_node_;
    bool part = one.kind == PSE_BCS_KIND_COLLECTIVE;
    uint32_t to = part ? every_node : static_cast<uint32_t>(one.peer) / per_node_;
    if (network_ && to != here && (part || one.moved + bytes >= one.bytes))
        network_->tell(here, to, record_bytes);
}

// Move the next bytes of a descriptor; afterwards the rank, or its helper, looks for more.
void Simulation::move(uint32_t rank, uint32_t index, Kind then)
{
    if (index == none)
        return;
    const Descriptor &one = segment_.descriptor(index);
    bool message = one.kind == PSE_BCS_KIND_RECEIVE;
    uint64_t bytes = message ? protocol_.chunk_of(one) : 0, &link = links_[rank / per_node_];
    uint64_t begin = message ? std::max(now_, link) : now_;
    double takes = message ? transfer_time(one, bytes) : collective_time(one);
    uint64_t end = begin + static_cast<uint64_t>(takes);
    if (message)
        link = end;
    double after = static_cast<double>(end - now_);
    push(Kind::moved, after, rank, index, bytes);
    push(then, after, rank);
}

double Simulation::transfer_time(const Descriptor &one, uint64_t bytes) const
{
    bool local = static_cast<uint32_t>(one.peer) / per_node_ == one.owner / per_node_;
    double size = static_cast<double>(bytes);
    bool is_here = local || (network_ && segment_.descriptor(one.match).reads_payload);
    double asked = network_ ? costs_.alpha : 0; // The receiver's node asks for it.
    return is_here ? size * costs_.copy : asked + costs_.alpha + size * costs_.beta;
}

// Along the tree a rank combines what came with the slice, or fetches pieces from all others one by one:
// those that it combines, and then, for a reduction, those of the result.
double Simulation::fetch_time(const Descriptor &one) const
{
    bool reduces = one.operation == PSE_BCS_REDUCE || one.operation == PSE_BCS_ALLREDUCE;
    double size = static_cast<double>(one.bytes), ranks = segment_.options().ranks;
    double sources = one.operation == PSE_BCS_BCAST ? 1 : ranks - 1;
    if (one.reads_payload)
        return sources * size * costs_.copy;
    double moved = reduces || one.operation == PSE_BCS_BCAST ? size : sources * size;
    return (reduces ? 2 : 1) * (sources * 2 * costs_.alpha + moved * costs_.beta);
}

// A barrier is the agreement of all nodes, which the slice has brought; a broadcast is a multicast;
// reductions combine in a tree of messages of two.
double Simulation::collective_time(const Descriptor &one) const
{
    double size = static_cast<double>(one.bytes), steps = 0;
    for (uint64_t reached = 1; reached < nodes_; reached *= 2)
        steps++;
    if (one.operation == PSE_BCS_BARRIER)
        return 0;
    if (network_)
        return fetch_time(one);
    if (one.operation == PSE_BCS_BCAST)
        return multicast() + size * (nodes_ > 1 ? costs_.beta : costs_.copy);
    return steps * (costs_.alpha + size * costs_.beta) + size * costs_.copy;
}

} // namespace pse::coschedule
