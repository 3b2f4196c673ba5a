// Looking at the layer of other processes, and letting its slices begin one by one: `pse bcs step`.
//
// The stepper is a process that isn't a rank.  It opens the ranks' memory file and holds a lock on it (flock)
// for as long as it lives; ranks see by that whether it is still there.
#pragma once

#include <sys/types.h>

#include <vector>

#include "segment.hpp"

namespace pse::coschedule
{

// Whether the environment names a stepper.
bool has_stepper();
// Tell the stepper that a variable of the environment names of this segment, none of whose slices may begin
// until it says so; without a stepper all may.
void announce(Segment &segment);
// The decisions that are kept: a stepper shows what moved.
uint32_t kept_decisions(uint32_t wanted);
bool is_stepped(const Segment &segment);

class Observer
{
  public:
    // Opens the memory of a layer, of node 0 if it has several; throws std::system_error, EBUSY if another
    // observer has it.
    Observer(pid_t process, int file);
    ~Observer();

    const Segment &segment() const
    {
        return segment_;
    }
    // Slices up to the n-th may begin.
    void allow(uint64_t slices);
    // None but those that have begun.
    void hold();
    void lock();
    void unlock();
    // Wait until other nodes have said what their ranks do, unless they can't.
    void look();
    // The decisions since this was last asked, with the lock held.
    std::vector<pse_bcs_match> new_matches();

  private:
    void call_nodes();

    Segment segment_;
    int caller_ = -1;
    uint64_t told_ = 0, shown_ = 0;
};

} // namespace pse::coschedule
