// What a rank does in the layer, as events of a trace (cext/abi/events.def): slices and matches, and for
// pse.bcs.Comm also its calls and operations, as the tool `trace` records those of MPI.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "segment.hpp"

namespace pse::coschedule
{

// Where the traces of a job are written; NULL: nowhere.
const char *trace_directory();

// Which rank of the job records, and which the layer's ranks are.
struct TracePlace {
    const char *part;                  // Who writes: a file of its own.
    uint32_t rank;                     // Of the job.
    uint32_t number, leaders;          // What the communicator is called here, and by its rank 0.
    std::vector<uint32_t> ranks;       // Of the job: those of the communicator.
    std::vector<std::string> routines; // By their numbers; none: calls are recorded by others.
};

// Every function but `enter` and `leave` is called with the segment's lock held.
class LayerTrace
{
  public:
    LayerTrace(const TracePlace &place, uint32_t me);
    // A call of a routine; its operations are between the two.
    void enter(uint32_t routine);
    void leave();
    // How the buffers of the next collective operation are divided.
    void expect(const std::vector<Piece> &pieces, const std::vector<Piece> &targets);
    void post(const Descriptor &one);
    void complete(const Descriptor &one);
    // In which slice it was matched, if any: sends may be complete before.
    void add_match(const Descriptor &one) const;
    void add(const pse_bcs_slice &slice);

  private:
    struct Bytes {
        uint64_t sent, received;
    };
    void name_communicator(const TracePlace &place) const;
    Bytes bytes_of(const Descriptor &one) const;
    uint64_t on(const Descriptor &one) const;

    uint32_t me_, ranks_, number_;
    std::vector<std::string> routines_;
    uint32_t routine_ = 0;
    uint64_t entered_ = 0;
    Bytes expected_{};
    std::map<uint64_t, Bytes> moved_; // Of collective operations under way, by their sequence.
};

} // namespace pse::coschedule
