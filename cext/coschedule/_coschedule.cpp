// The Python face of the coscheduled layer: pse.coschedule._coschedule.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>
#include <optional>
#include <utility>

#include "engine.hpp"

namespace py = pybind11;
using namespace pse::coschedule;

namespace
{

// A contiguous buffer of a Python object, for as long as the call lasts; the caller keeps the object itself.
class Buffer
{
  public:
    Buffer(const py::object &object, bool writable)
    {
        if (object.is_none())
            return;
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ANY_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) != 0)
            throw py::error_already_set();
        held_ = true;
    }
    ~Buffer()
    {
        if (held_)
            PyBuffer_Release(&view_);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    void *data() const { return held_ ? view_.buf : nullptr; }
    uint64_t bytes() const { return held_ ? static_cast<uint64_t>(view_.len) : 0; }

  private:
    Py_buffer view_{};
    bool held_ = false;
};

// Give what `operation` gives, as often as it ends because of signals that Python handles and survives; the number
// of a descriptor, or nothing if the layer has failed.
template <class Operation> std::optional<uint32_t> post(Engine &engine, Operation operation)
{
    for (;;) {
        uint32_t index;
        {
            py::gil_scoped_release release;
            index = operation();
        }
        if (index != none)
            return index;
        if (engine.segment().shared().failure.load())
            return std::nullopt;
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
    }
}

pse_bcs_outcome wait(Engine &engine, const std::vector<uint32_t> &requests, Wait mode)
{
    for (;;) {
        pse_bcs_outcome outcome;
        {
            py::gil_scoped_release release;
            outcome = engine.wait(requests, mode);
        }
        if (outcome != PSE_BCS_WAIT_INTERRUPTED)
            return outcome;
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
    }
}

std::optional<uint32_t> send(Engine &engine, const py::object &data, int32_t dest, int32_t tag, bool blocking)
{
    Buffer buffer(data, false);
    return post(engine, [&] { return engine.send(buffer.data(), buffer.bytes(), dest, tag, blocking); });
}

std::optional<uint32_t> receive(Engine &engine, const py::object &data, int32_t source, int32_t tag, bool blocking)
{
    Buffer buffer(data, true);
    return post(engine, [&] { return engine.receive(buffer.data(), buffer.bytes(), source, tag, blocking); });
}

std::optional<uint32_t> probe(Engine &engine, int32_t source, int32_t tag)
{
    return post(engine, [&] { return engine.probe(source, tag); });
}

using Pieces = std::vector<std::pair<uint64_t, uint64_t>>;

std::vector<Piece> pieces_of(const Pieces &given)
{
    std::vector<Piece> pieces;
    for (auto [offset, bytes] : given)
        pieces.push_back({offset, bytes});
    return pieces;
}

// `reduction`: the address of MPI_Reduce_local, the handles of type and operation, and the bytes of an element.
std::optional<uint32_t> collective(Engine &engine, int operation, int32_t root, const py::object &data,
                                   const py::object &target, const Pieces &pieces, const Pieces &targets,
                                   const std::array<uint64_t, 4> &reduction, bool blocking)
{
    Buffer from(data, false), into(target, true);
    Engine::Collection what{static_cast<pse_bcs_collective>(operation), root, from.data(), from.bytes(), into.data(),
                            pieces_of(pieces), blocking};
    Call call;
    call.reduction = {reinterpret_cast<void *>(reduction[0]), reduction[1], reduction[2], reduction[3]};
    call.target = pieces_of(targets);
    return post(engine, [&] { return engine.collective(what, call); });
}

// What one blocking operation needs: wait for a descriptor, give its status (source, tag, bytes, truncated), forget it.
py::object complete(Engine &engine, uint32_t request)
{
    if (wait(engine, {request}, Wait::all) != PSE_BCS_WAIT_COMPLETE)
        return py::none();
    Status status = engine.status(request);
    engine.release(request);
    return py::make_tuple(status.source, status.tag, status.bytes, status.truncated);
}

py::dict describe(const Distribution &one)
{
    py::dict found;
    found["count"] = one.count;
    found["total"] = one.total;
    found["least"] = one.count ? one.least : 0;
    found["greatest"] = one.greatest;
    found["bins"] = py::array_t<uint64_t>(static_cast<py::ssize_t>(one.bins.size()), one.bins.data());
    return found;
}

py::dict monitored(Engine &engine)
{
    const Monitor &monitor = engine.monitor();
    py::dict found;
    found["computation"] = describe(monitor.computation);
    found["communication"] = describe(monitor.communication);
    py::list latencies, sizes;
    for (const Distribution &one : monitor.latencies)
        latencies.append(describe(one));
    for (const Distribution &one : monitor.sizes)
        sizes.append(describe(one));
    found["latencies"] = latencies;
    found["sizes"] = sizes;
    return found;
}

// The last rows of a ring, the oldest first.
template <class Row> py::bytes rows(const Row *ring, uint64_t written, uint64_t room)
{
    uint64_t count = written < room ? written : room, first = written - count;
    std::string bytes;
    for (uint64_t row = first; row < written; row++)
        bytes.append(reinterpret_cast<const char *>(&ring[row % room]), sizeof(Row));
    return py::bytes(bytes);
}

py::dict totals(const Engine &engine)
{
    const Shared &shared = engine.segment().shared();
    py::dict found;
    found["slices"] = shared.slice;
    found["epochs"] = shared.epoch;
    found["timed"] = shared.timed;
    found["late"] = shared.late;
    found["matches"] = shared.logged;
    return found;
}

// What the ranks were waiting for when the layer failed: kind, rank, peer, tag, operation of each awaited descriptor.
py::list awaited(const Engine &engine)
{
    const Segment &segment = engine.segment();
    py::list found;
    for (uint32_t index = 0; index < segment.options().ranks * segment.options().table; index++) {
        const Descriptor &one = segment.descriptor(index);
        if (one.state == State::posted || one.state == State::exchanged)
            found.append(py::make_tuple(static_cast<int>(one.kind), one.owner, one.peer, one.tag,
                                        static_cast<int>(one.operation), one.number));
    }
    return found;
}

} // namespace

PYBIND11_MODULE(_coschedule, module)
{
    module.doc() = "One rank's end of the coscheduled communication layer.";
    py::class_<Engine>(module, "Engine")
        .def(py::init([](uint32_t ranks, uint32_t table, bool strict, bool ordered, uint64_t slice, uint64_t chunk,
                         uint32_t monitored, uint32_t logged) {
                 return new Engine(Options{ranks, table, strict, ordered, slice, chunk, monitored, logged});
             }),
             py::kw_only(), py::arg("ranks"), py::arg("table"), py::arg("strict"), py::arg("ordered"),
             py::arg("slice"), py::arg("chunk"), py::arg("monitored"), py::arg("logged"))
        .def(py::init<pid_t, int, int, uint32_t>())
        .def("files", [](Engine &engine) { return py::make_tuple(engine.segment_file(), engine.bells_file()); })
        .def("try_reading", &Engine::try_reading)
        .def("begin", &Engine::begin, py::call_guard<py::gil_scoped_release>())
        .def("leave", &Engine::leave, py::call_guard<py::gil_scoped_release>())
        .def("send", &send)
        .def("receive", &receive)
        .def("probe", &probe)
        .def("collective", &collective)
        .def("complete", &complete)
        .def("wait_all", [](Engine &engine, const std::vector<uint32_t> &some) {
            return static_cast<int>(wait(engine, some, Wait::all));
        })
        .def("wait_any", [](Engine &engine, const std::vector<uint32_t> &some) {
            return static_cast<int>(wait(engine, some, Wait::one));
        })
        .def("test", [](Engine &engine, const std::vector<uint32_t> &some) {
            return static_cast<int>(wait(engine, some, Wait::test));
        })
        .def("is_done", &Engine::is_done)
        .def("status", [](Engine &engine, uint32_t request) {
            Status status = engine.status(request);
            return py::make_tuple(status.source, status.tag, status.bytes, status.truncated);
        })
        .def("release", &Engine::release)
        .def("failure", [](Engine &engine) {
            const Shared &shared = engine.segment().shared();
            return py::make_tuple(shared.failure.load(), shared.culprit, shared.other);
        })
        .def("awaited", &awaited)
        .def("totals", &totals)
        .def("slices", [](Engine &engine) {
            const Segment &segment = engine.segment();
            return rows(segment.slices(), segment.shared().recorded, segment.options().monitored);
        })
        .def("matches", [](Engine &engine) {
            const Segment &segment = engine.segment();
            return rows(segment.matches(), segment.shared().logged, segment.options().logged);
        })
        .def("begin_monitor", [](Engine &engine, uint32_t primitives, uint32_t resolution) {
            engine.monitor().begin(primitives, resolution, now());
        })
        .def("note", [](Engine &engine, uint32_t primitive, uint64_t bytes, bool blocking, uint64_t enter) {
            engine.monitor().add(primitive, bytes, blocking, enter, now());
        })
        .def("end_monitor", [](Engine &engine) { engine.monitor().end(now()); })
        .def("monitored", &monitored);
    module.def("now", &now);
}
