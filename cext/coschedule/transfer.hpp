// Moving bytes: every rank fetches what it is to receive, from the payload of a descriptor or out of the
// memory of the rank that has it (one copy, by the kernel).
#pragma once

#include <cerrno>
#include <system_error>
#include <vector>

#include "protocol.hpp"

namespace pse::coschedule
{

// MPI_Reduce_local and the handles of a call: into = from op into.
struct Reduction {
    void *routine = nullptr;
    uint64_t type = 0, operation = 0;
    uint64_t item = 1;    // Bytes of an element.
    uint32_t meaning = 0; // Type and operation by their names: handles differ between ranks.

    void combine(const void *from, void *into, uint64_t bytes) const;
};

// What the owner of a collective descriptor knows of its call and others need not.
struct Call {
    Reduction reduction;
    std::vector<Piece> target; // Where the piece of each rank belongs; GATHER, ALLGATHER, ALLTOALL.
    std::vector<Piece> pieces; // Where no buffer has them: what each rank gets.
    std::vector<uint8_t> partial, scratch;
};

// The memory of a rank of this node can't be read: its process has ended.
class RankLost : public std::system_error
{
  public:
    RankLost(int error, uint32_t rank)
        : std::system_error(error, std::generic_category(), "read another rank's memory"), rank_(rank)
    {
    }
    uint32_t rank() const
    {
        return rank_;
    }

  private:
    uint32_t rank_;
};

class Transfer
{
  public:
    Transfer(const Segment &segment, Platform &platform, uint32_t rank)
        : s_(segment), platform_(platform), me_(rank)
    {
    }

    // Move the next bytes of a receive.
    void fetch(const Descriptor &receive, uint64_t bytes) const;
    // Do this rank's part of the current round of a collective operation; false: a piece was too long for its
    // place.
    bool perform(const Descriptor &part, Call &call) const;

  private:
    void read(const Descriptor &source, uint64_t offset, void *into, uint64_t bytes) const;
    void read_elsewhere(uint32_t rank, uint32_t source, uint64_t address, void *into, uint64_t bytes) const;
    void read_memory(uint32_t rank, uint64_t address, void *into, uint64_t bytes) const;
    const Descriptor &part_of(const Descriptor &mine, uint32_t rank) const;
    Piece piece_of(const Descriptor &source, uint32_t rank) const;
    bool collect(const Descriptor &part, const Call &call) const;
    void reduce(const Descriptor &part, Call &call, uint32_t first, uint32_t last, Piece piece,
                uint8_t *into) const;
    void reduce_small(const Descriptor &part, Call &call) const;
    void reduce_piece(const Descriptor &part, Call &call) const;
    void collect_pieces(const Descriptor &part, Call &call) const;
    Piece piece_of_rank(const Descriptor &part, const Call &call, uint32_t rank) const;

    const Segment &s_;
    Platform &platform_;
    uint32_t me_;
};

} // namespace pse::coschedule
