#include "transfer.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "shared_memory.hpp"

namespace pse::coschedule
{
namespace
{

// The most elements of one call of MPI_Reduce_local.
constexpr uint64_t most_elements = 1u << 30;
// ns after which who waits for another node looks whether the layer has failed.
constexpr uint64_t look_interval = 50000000;

uint8_t *at(uint64_t address)
{
    return reinterpret_cast<uint8_t *>(address);
}

} // namespace

void Reduction::combine(const void *from, void *into, uint64_t bytes) const
{
    // MPI libraries differ in the types of their handles, but all fit into a register.
    using Routine = int (*)(const void *, void *, int, uint64_t, uint64_t);
    auto reduce_local = reinterpret_cast<Routine>(routine);
    auto source = static_cast<const uint8_t *>(from);
    auto result = static_cast<uint8_t *>(into);
    for (uint64_t done = 0, left = bytes / item; left;) {
        uint64_t count = std::min(left, most_elements);
        reduce_local(source + done * item, result + done * item, static_cast<int>(count), type, operation);
        done += count;
        left -= count;
    }
}

// The leader's thread for other nodes fetches it, and writes it into this rank's memory.
void Transfer::read_elsewhere(uint32_t rank, uint32_t source, uint64_t address, void *into,
                              uint64_t bytes) const
{
    uint32_t index = me_ * fetches, expected = Fetch::free;
    while (!s_.fetch(index).state.compare_exchange_strong(expected, Fetch::claimed)) {
        index = me_ * fetches + (index + 1) % fetches;
        expected = Fetch::free;
    }
    Fetch &fetch = s_.fetch(index);
    fetch.owner = rank;
    fetch.source = source;
    fetch.address = address;
    fetch.into = reinterpret_cast<uint64_t>(into);
    fetch.bytes = bytes;
    fetch.state.store(Fetch::asked);
    platform_.nodes();
    for (uint32_t state; (state = fetch.state.load()) != Fetch::done;) {
        if (s_.shared().failure.load() != PSE_BCS_FAILURE_NONE || s_.shared().cut_off.load())
            throw std::system_error(ECONNABORTED, std::generic_category(), "read another node's memory");
        futex_wait(fetch.state, state, look_interval);
    }
    fetch.state.store(Fetch::free);
}

void Transfer::read_memory(uint32_t rank, uint64_t address, void *into, uint64_t bytes) const
{
    if (!s_.is_here(rank))
        return bytes ? read_elsewhere(rank, none, address, into, bytes) : void();
    if (rank == me_) {
        std::memmove(into, at(address), bytes);
        return;
    }
    auto target = static_cast<uint8_t *>(into);
    for (uint64_t done = 0; done < bytes;) {
        iovec local{target + done, bytes - done}, remote{at(address + done), bytes - done};
        ssize_t moved = process_vm_readv(s_.rank(rank).process.load(), &local, 1, &remote, 1, 0);
        if (moved <= 0)
            throw RankLost(moved ? errno : EIO, rank);
        done += static_cast<uint64_t>(moved);
    }
}

void Transfer::read(const Descriptor &source, uint64_t offset, void *into, uint64_t bytes) const
{
    if (!bytes)
        return;
    if (source.reads_payload)
        std::memcpy(into, s_.payload(source) + s_.table_bytes(source) + offset, bytes);
    else
        read_memory(source.owner, source.address + offset, into, bytes);
}

void Transfer::fetch(const Descriptor &receive, uint64_t bytes) const
{
    const Descriptor &send = s_.descriptor(receive.match);
    void *into = at(receive.address + receive.moved);
    if (s_.is_here(send.owner) || send.reads_payload || !bytes)
        read(send, receive.moved, into, bytes);
    else
        read_elsewhere(send.owner, receive.match, send.address + receive.moved, into, bytes);
}

const Descriptor &Transfer::part_of(const Descriptor &mine, uint32_t rank) const
{
    return s_.descriptor(s_.part(mine.number, rank));
}

// What `source` has for a rank: its whole buffer, or what the table says that travels with it or is its
// owner's.
Piece Transfer::piece_of(const Descriptor &source, uint32_t rank) const
{
    Piece piece{0, source.bytes};
    if (source.pieces)
        read_memory(source.owner, source.pieces + rank * sizeof piece, &piece, sizeof piece);
    else if (s_.table_bytes(source))
        std::memcpy(&piece, s_.payload(source) + rank * sizeof piece, sizeof piece);
    return piece;
}

// Fetch the pieces of all ranks that have one for this rank.
bool Transfer::collect(const Descriptor &part, const Call &call) const
{
    bool from_root = part.operation == PSE_BCS_BCAST || part.operation == PSE_BCS_SCATTER;
    bool is_root = static_cast<int32_t>(me_) == part.peer;
    if ((part.operation == PSE_BCS_GATHER && !is_root) || part.operation == PSE_BCS_BARRIER ||
        (part.operation == PSE_BCS_BCAST && is_root))
        return true;
    bool fits = true;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        if (from_root && static_cast<int32_t>(rank) != part.peer)
            continue;
        const Descriptor &source = part_of(part, rank);
        Piece piece = piece_of(source, me_), target = call.target.at(rank);
        bool stays = rank == me_ && !part.target; // In place.
        if (!stays)
            read(source, piece.offset, at(part.target + target.offset), std::min(piece.bytes, target.bytes));
        fits &= stays || piece.bytes <= target.bytes;
    }
    return fits;
}

// Combine a piece of the buffers of ranks first to last, the lowest rank's as the left operand: the same bits
// whoever does it and whenever.
void Transfer::reduce(const Descriptor &part, Call &call, uint32_t first, uint32_t last, Piece piece,
                      uint8_t *into) const
{
    call.scratch.resize(piece.bytes);
    call.partial.resize(std::max<size_t>(call.partial.size(), piece.bytes));
    uint8_t *sum = call.partial.data();
    read(part_of(part, last), piece.offset, sum, piece.bytes);
    for (uint32_t rank = last; rank-- > first;) {
        read(part_of(part, rank), piece.offset, call.scratch.data(), piece.bytes);
        call.reduction.combine(call.scratch.data(), sum, piece.bytes);
    }
    if (into && into != sum)
        std::memcpy(into, sum, piece.bytes);
}

void Transfer::reduce_small(const Descriptor &part, Call &call) const
{
    uint32_t last = s_.options().ranks - 1;
    if (part.operation == PSE_BCS_SCAN)
        last = me_;
    if (part.operation == PSE_BCS_EXSCAN)
        last = me_ - 1; // Rank 0 has no result.
    bool wanted = part.operation == PSE_BCS_REDUCE ? static_cast<int32_t>(me_) == part.peer
                                                   : part.operation != PSE_BCS_EXSCAN || me_ > 0;
    if (wanted)
        reduce(part, call, 0, last, {0, part.bytes}, at(part.target));
}

Piece Transfer::piece_of_rank(const Descriptor &part, const Call &call, uint32_t rank) const
{
    uint64_t elements = part.bytes / call.reduction.item, ranks = s_.options().ranks;
    uint64_t begin = elements * rank / ranks, end = elements * (rank + 1) / ranks;
    return {begin * call.reduction.item, (end - begin) * call.reduction.item};
}

// Round 0: this rank's piece of the result, to `partial`, where the others fetch it in round 1.
void Transfer::reduce_piece(const Descriptor &part, Call &call) const
{
    reduce(part, call, 0, s_.options().ranks - 1, piece_of_rank(part, call, me_), nullptr);
}

void Transfer::collect_pieces(const Descriptor &part, Call &call) const
{
    if (part.operation == PSE_BCS_REDUCE && static_cast<int32_t>(me_) != part.peer)
        return;
    for (uint32_t rank = 0; rank < s_.options().ranks; rank++) {
        Piece piece = piece_of_rank(part, call, rank);
        read_memory(rank, part_of(part, rank).partial, at(part.target + piece.offset), piece.bytes);
    }
}

bool Transfer::perform(const Descriptor &part, Call &call) const
{
    bool pieces = part.operation == PSE_BCS_REDUCE || part.operation == PSE_BCS_ALLREDUCE;
    bool scan = part.operation == PSE_BCS_SCAN || part.operation == PSE_BCS_EXSCAN;
    if (!pieces && !scan)
        return collect(part, call);
    if (scan || part.bytes <= PSE_BCS_WHOLE)
        reduce_small(part, call);
    else if (part.round == 0)
        reduce_piece(part, call);
    else
        collect_pieces(part, call);
    return true;
}

} // namespace pse::coschedule
