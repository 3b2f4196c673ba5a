// The Python face of simulated ranks: pse.coschedule._simulation.
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "measured_costs.hpp"
#include "nodes/bytes.hpp"
#include "nodes/slice_tree.hpp"
#include "python_errors.hpp"
#include "simulation.hpp"

namespace py = pybind11;
using namespace pse::coschedule;

namespace
{

template <class Row> std::vector<Row> rows_of(const py::bytes &given)
{
    std::string_view bytes = given;
    std::vector<Row> found(bytes.size() / sizeof(Row));
    std::memcpy(found.data(), bytes.data(), found.size() * sizeof(Row));
    return found;
}

template <class Row> py::bytes bytes_of(const Row *rows, uint64_t count)
{
    return py::bytes(reinterpret_cast<const char *>(rows), count * sizeof(Row));
}

// ns until all ranks have ended (None: they wait for each other), slices and decisions, and how many messages
// went between nodes for slices.
py::tuple simulate(const Options &options, const Costs &costs, uint32_t per_node, const py::bytes &acts,
                   const py::bytes &begins)
{
    Simulation simulation(options, costs, per_node, {rows_of<pse_bcs_act>(acts), rows_of<uint64_t>(begins)});
    bool ended;
    {
        py::gil_scoped_release release;
        ended = simulation.run();
    }
    const Segment &segment = simulation.segment();
    const Shared &shared = segment.shared();
    return py::make_tuple(ended ? std::optional(simulation.end()) : std::nullopt,
                          bytes_of(segment.slices(), std::min<uint64_t>(shared.recorded, options.monitored)),
                          bytes_of(segment.matches(), std::min<uint64_t>(shared.logged, options.logged)),
                          simulation.messages());
}

// One node's end of a slice, whose messages a function in Python carries.
class Tree
{
  public:
    using Post = std::function<void(uint32_t, uint32_t, py::bytes)>;
    Tree(uint32_t node, uint32_t nodes, const Post &post)
        : node_(node), tree_(node, nodes, [post](uint32_t to, SliceKind kind, const SliceTree::Said &said) {
              post(to, static_cast<uint32_t>(kind), py::bytes(pack(said)));
          })
    {
    }
    // It has something to say to nodes, or to every_node.
    void begin(const std::vector<std::pair<uint32_t, std::string>> &packets)
    {
        SliceTree::Said mine{{0, packets.size(), 0, 0, 0, 0, 0, 0}, {}};
        for (const auto &[to, text] : packets) {
            append(mine.packets, Packet{node_, to, 0, 0, text.size()});
            mine.packets += text;
        }
        tree_.begin(std::move(mine));
    }
    void message(uint32_t node, uint32_t kind, const std::string &bytes)
    {
        tree_.message(node, static_cast<SliceKind>(kind), unpack(bytes));
    }
    bool is_called() const
    {
        return tree_.is_called();
    }
    bool is_begun() const
    {
        return tree_.is_begun();
    }
    bool is_over() const
    {
        return tree_.is_over();
    }
    // How much was said, and what of it has come here: from and to whom.
    py::tuple end()
    {
        SliceTree::Said all = tree_.end();
        py::list told;
        for (size_t at = 0; at < all.packets.size();) {
            auto head = read<Packet>(all.packets, at);
            told.append(py::make_tuple(head.from, head.to, py::bytes(all.packets.substr(at, head.bytes))));
            at += head.bytes;
        }
        return py::make_tuple(all.state.records, told);
    }

  private:
    uint32_t node_;
    SliceTree tree_;
};

} // namespace

PYBIND11_MODULE(_simulation, module)
{
    module.doc() = "The protocol of coscheduled communication under a virtual clock.";
    translate_system_errors();
    py::class_<Costs>(module, "Costs")
        .def(py::init([](double alpha, double beta, double first, double level, uint32_t fan, double message,
                         double packet, double copy, double descriptor, double match, double slice,
                         double wake) {
                 return Costs{alpha,  beta, first,      level, fan,   message,
                              packet, copy, descriptor, match, slice, wake};
             }),
             py::kw_only(), py::arg("alpha"), py::arg("beta"), py::arg("first"), py::arg("level"),
             py::arg("fan"), py::arg("message"), py::arg("packet"), py::arg("copy"), py::arg("descriptor"),
             py::arg("match"), py::arg("slice"), py::arg("wake"));
    module.def(
        "simulate",
        [](uint32_t ranks, uint32_t table, bool strict, uint64_t slice, uint64_t chunk, bool adapted,
           uint32_t kept, const Costs &costs, uint32_t per_node, const py::bytes &acts,
           const py::bytes &begins) {
            return simulate(Options{ranks, table, strict, true, slice, chunk, adapted, kept, kept, 0}, costs,
                            per_node, acts, begins);
        },
        py::kw_only(), py::arg("ranks"), py::arg("table"), py::arg("strict"), py::arg("slice"),
        py::arg("chunk"), py::arg("adapted"), py::arg("kept"), py::arg("costs"), py::arg("per_node"),
        py::arg("acts"), py::arg("begins"));
    module.attr("EVERY_NODE") = every_node;
    py::class_<Tree>(module, "SliceTree")
        .def(py::init<uint32_t, uint32_t, Tree::Post>())
        .def("begin", &Tree::begin)
        .def("message", &Tree::message)
        .def("is_called", &Tree::is_called)
        .def("is_begun", &Tree::is_begun)
        .def("is_over", &Tree::is_over)
        .def("end", &Tree::end);
    module.def("measured", [] {
        MeasuredCosts found = measure_costs();
        return py::make_tuple(found.message, found.packet, found.copy, found.descriptor, found.match,
                              found.slice, found.wake);
    });
    module.def("noted_slice", &noted_slice, "ns that it takes to keep a slice (EMDS).");
    module.def("noted_call", &noted_call, "ns that it takes to monitor a call (MMDS).");
}
