#include "nodes/node_view.hpp"

#include <algorithm>
#include <cstring>

#include "nodes/bytes.hpp"

namespace pse::coschedule
{
namespace
{

struct RankView {
    uint32_t rank;
    int32_t process;
    uint32_t blocked, left, call, shown;
    char place[PSE_BCS_PLACE];
};

std::string operations_of(const Segment &segment, uint32_t rank, uint32_t &count)
{
    std::string found;
    visit_operations(segment, rank, [&](const Descriptor &one) {
        if (count == segment.operations())
            return;
        append(found, one);
        count++;
    });
    return found;
}

std::string rank_of(const Segment &segment, uint32_t rank)
{
    const Rank &one = segment.rank(rank);
    RankView view{rank, one.process.load(), one.blocked.load(), one.left, one.call, 0, {}};
    std::memcpy(view.place, one.place, sizeof view.place);
    std::string operations = operations_of(segment, rank, view.shown), found = bytes_of(view);
    return found + operations;
}

void take_rank(Segment &segment, const std::string &message, size_t &at)
{
    auto view = read<RankView>(message, at);
    Rank &one = segment.rank(view.rank);
    one.process.store(view.process);
    one.blocked.store(view.blocked);
    one.left = view.left;
    one.call = view.call;
    one.shown = view.shown;
    std::memcpy(one.place, view.place, sizeof one.place);
    for (uint32_t slot = 0; slot < view.shown; slot++)
        segment.shown(view.rank * segment.operations() + slot) = read<Descriptor>(message, at);
}

} // namespace

std::string view_of(const Segment &segment, uint64_t number, bool is_in_slice, uint64_t &told)
{
    const Shared &shared = segment.shared();
    uint64_t room = segment.options().logged;
    uint64_t first = std::max(told, shared.logged - std::min(shared.logged, room));
    NodeView view{number, shared.moving > 0, is_in_slice, segment.options().neighbours,
                  static_cast<uint32_t>(shared.logged - first)};
    std::string message = bytes_of(view);
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++)
        if (segment.is_here(rank))
            message += rank_of(segment, rank);
    for (; first < shared.logged; first++)
        append(message, segment.matches()[first % room]);
    told = shared.logged;
    return message;
}

NodeView take_view(Segment &segment, const std::string &message)
{
    size_t at = 0;
    auto view = read<NodeView>(message, at);
    for (uint32_t rank = 0; rank < view.ranks; rank++)
        take_rank(segment, message, at);
    for (uint32_t one = 0; one < view.matches && segment.options().logged; one++)
        segment.shown_matches()[segment.shared().shown_matches++ % segment.options().logged] =
            read<pse_bcs_match>(message, at);
    return view;
}

} // namespace pse::coschedule
