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

// ns until all ranks have ended (None: they wait for each other), slices and decisions.
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
                          bytes_of(segment.matches(), std::min<uint64_t>(shared.logged, options.logged)));
}

// One node's end of a slice, whose messages a function in Python carries.
class Tree
{
  public:
    using Post = std::function<void(uint32_t, uint32_t, py::bytes)>;
    Tree(uint32_t node, uint32_t nodes, const Post &post)
        : node_(node), tree_(node, nodes, [post](uint32_t to, uint32_t kind, const std::string &said) {
              post(to, kind, py::bytes(said));
          })
    {
    }
    // It has a record for all others.
    void begin(const std::string &text)
    {
        Parcel head{node_, every_node, 0, 0, text.size()};
        tree_.begin({{0, 1, 0, 0, 0, 0, 0, 0},
                     std::string(reinterpret_cast<const char *>(&head), sizeof head) + text});
    }
    void message(uint32_t node, uint32_t kind, const std::string &bytes)
    {
        tree_.message(node, kind, bytes);
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
    // How many have said something, and what of it has come here.
    py::tuple end()
    {
        SliceTree::Said all = tree_.end();
        py::dict told;
        Parcel head;
        for (size_t at = 0; at < all.parcels.size(); at += sizeof head + head.bytes) {
            std::memcpy(&head, all.parcels.data() + at, sizeof head);
            told[py::int_(head.from)] = py::bytes(all.parcels.substr(at + sizeof head, head.bytes));
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
        .def(py::init([](double alpha, double beta, double first, double level, double copy,
                         double descriptor, double match, double slice, double wake, uint32_t fan) {
                 return Costs{alpha, beta, first, level, copy, descriptor, match, slice, wake, fan};
             }),
             py::kw_only(), py::arg("alpha"), py::arg("beta"), py::arg("first"), py::arg("level"),
             py::arg("copy"), py::arg("descriptor"), py::arg("match"), py::arg("slice"), py::arg("wake"),
             py::arg("fan"));
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
        return py::make_tuple(found.copy, found.descriptor, found.match, found.slice, found.wake);
    });
    module.def("noted_slice", &noted_slice, "ns that it takes to keep a slice (EMDS).");
    module.def("noted_call", &noted_call, "ns that it takes to monitor a call (MMDS).");
}
