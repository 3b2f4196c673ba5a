#include "segment.hpp"

#include "shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace pse::coschedule
{
namespace
{

// A descriptor is told at most so often before its owner may use it again.
constexpr size_t records_of_descriptor = 8;

constexpr uint64_t magic = 0x3173636265737000; // "\0psebcs1"

uint32_t operations_of(uint32_t ranks)
{
    return std::min<uint32_t>(PSE_BCS_MOST_OPERATIONS, PSE_BCS_MOST_DESCRIPTORS / ranks);
}

[[noreturn]] void fail(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

// With base 0 it only says how many bytes are needed.
size_t Segment::place(uintptr_t base, const Options &options)
{
    size_t at = 0, buffers = size_t{options.ranks} * (options.table + in_flight);
    size_t operations = size_t{options.ranks} * operations_of(options.ranks);
    shared_ = take_room<Shared>(base, at, 1);
    ranks_ = take_room<Rank>(base, at, options.ranks);
    descriptors_ = take_room<Descriptor>(base, at, operations);
    collectives_ = take_room<Collective>(base, at, in_flight);
    parts_ = take_room<uint32_t>(base, at, size_t{in_flight} * options.ranks);
    slices_ = take_room<pse_bcs_slice>(base, at, options.monitored);
    matches_ = take_room<pse_bcs_match>(base, at, options.logged);
    replay_ = take_room<pse_bcs_match>(base, at, options.replayed);
    size_t elsewhere = options.nodes > 1;
    records_ = take_room<Record>(base, at, elsewhere * operations * records_of_descriptor);
    fetches_ = take_room<Fetch>(base, at, elsewhere * options.ranks * fetches);
    shown_ = take_room<Descriptor>(base, at, elsewhere * operations);
    shown_matches_ = take_room<pse_bcs_match>(base, at, elsewhere * options.logged);
    next_buffers_ = take_room<uint32_t>(base, at, buffers);
    payloads_ = take_room<uint8_t>(base, at, buffers * PSE_BCS_EAGER);
    return at;
}

void Segment::map(size_t bytes)
{
    bytes_ = bytes;
    void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (base == MAP_FAILED) {
        int error = errno;
        close(file_);
        errno = error;
        fail("map the memory that ranks share");
    }
    madvise(base, bytes, MADV_DONTDUMP); // Most of it is never used.
    shared_ = static_cast<Shared *>(base);
}

Segment::Segment(const Options &options, const std::vector<uint32_t> &nodes)
{
    file_ = memfd_create("pse-coschedule", MFD_CLOEXEC);
    size_t bytes = place(0, options);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(bytes)) != 0)
        fail("make the memory that ranks share");
    map(bytes);
    place(reinterpret_cast<uintptr_t>(shared_), options);
    new (shared_) Shared{};
    shared_->options = options;
    shared_->allowed.store(unlimited);
    make_robust_lock(shared_->lock);
    for (uint32_t rank = 0; rank < options.ranks; rank++) {
        new (&ranks_[rank]) Rank{};
        ranks_[rank].call = none;
        ranks_[rank].node = nodes.empty() ? options.node : nodes[rank];
        shared_->options.neighbours += is_here(rank);
        ranks_[rank].messages.free = ranks_[rank].operations.free = none;
    }
    for (uint64_t number = 0; number < in_flight; number++)
        collectives_[number].number = number;
    shared_->magic = magic;
}

Segment::Segment(pid_t process, int descriptor)
{
    std::string name = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
    file_ = open(name.c_str(), O_RDWR | O_CLOEXEC);
    struct stat status;
    if (file_ < 0 || fstat(file_, &status) != 0)
        fail("open the memory that ranks share");
    map(static_cast<size_t>(status.st_size));
    if (shared_->magic != magic) {
        errno = EPROTO;
        fail("open the memory that ranks share");
    }
    Options options = shared_->options;
    place(reinterpret_cast<uintptr_t>(shared_), options);
}

Segment::~Segment()
{
    munmap(shared_, bytes_);
    close(file_);
}

std::vector<pse_bcs_slice> Segment::kept_slices() const
{
    uint64_t end = shared_->recorded, count = std::min<uint64_t>(end, options().monitored);
    std::vector<pse_bcs_slice> found;
    for (uint64_t row = end - count; row < end; row++)
        found.push_back(slices_[row % options().monitored]);
    return found;
}

const pse_bcs_match *Segment::recorded(uint32_t kind, uint32_t rank, uint64_t number) const
{
    auto key = [](const pse_bcs_match &one) { return std::make_tuple(one.kind, one.receiver, one.receive); };
    pse_bcs_match wanted{};
    wanted.kind = kind;
    wanted.receiver = rank;
    wanted.receive = number;
    const pse_bcs_match *end = replay_ + options().replayed;
    const pse_bcs_match *found = std::lower_bound(
        replay_, replay_ + options().replayed, wanted,
        [&](const pse_bcs_match &one, const pse_bcs_match &other) { return key(one) < key(other); });
    return found != end && key(*found) == key(wanted) ? found : nullptr;
}

void Segment::log(const pse_bcs_match &decision) const
{
    if (options().logged)
        matches_[shared_->logged++ % options().logged] = decision;
}

uint32_t Segment::operations() const
{
    return operations_of(options().ranks);
}

uint32_t Segment::take_descriptor(uint32_t rank) const
{
    Rank &owner = ranks_[rank];
    if (owner.free.head != none)
        return pop(owner.free);
    return owner.descriptors < operations() ? rank * operations() + owner.descriptors++ : none;
}

void Segment::note_descriptor(uint32_t index) const
{
    uint32_t &known = ranks_[index / operations()].descriptors;
    known = std::max(known, index % operations() + 1);
}

// A rank has those for messages first, then those for collective operations.
uint32_t Segment::take_buffer(const Descriptor &one) const
{
    BufferPool &pool = pool_of(one);
    uint32_t index = pool.free, messages = options().table;
    bool collective = one.kind == PSE_BCS_KIND_COLLECTIVE;
    if (index != none)
        pool.free = next_buffers_[index];
    else if (pool.used < (collective ? in_flight : messages))
        index = one.owner * (messages + in_flight) + (collective ? messages : 0) + pool.used++;
    return index;
}

void Segment::give_back(Descriptor &buffered) const
{
    uint32_t index = std::exchange(buffered.buffer, none);
    if (index == none)
        return;
    BufferPool &pool = pool_of(buffered);
    next_buffers_[index] = pool.free;
    pool.free = index;
}

void Segment::push(List &list, uint32_t index) const
{
    descriptors_[index].next = none;
    (list.tail == none ? list.head : descriptors_[list.tail].next) = index;
    list.tail = index;
}

void Segment::push_front(List &list, uint32_t index) const
{
    descriptors_[index].next = list.head;
    list.head = index;
    if (list.tail == none)
        list.tail = index;
}

uint32_t Segment::pop(List &list) const
{
    uint32_t index = list.head;
    if (index != none)
        remove(list, none, index);
    return index;
}

void Segment::remove(List &list, uint32_t previous, uint32_t index) const
{
    uint32_t next = descriptors_[index].next;
    (previous == none ? list.head : descriptors_[previous].next) = next;
    if (list.tail == index)
        list.tail = previous;
}

} // namespace pse::coschedule
