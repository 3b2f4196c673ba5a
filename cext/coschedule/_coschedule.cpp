// The Python face of the coscheduled layer: pse.coschedule._coschedule.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "abi_events.h"
#include "engine.hpp"
#include "monitoring/monitor_files.hpp"
#include "monitoring/monitor_settings.hpp"
#include "nodes/node_view.hpp"
#include "python_errors.hpp"
#include "reports/deadlock_text.hpp"
#include "stepping/observer.hpp"

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
        if (PyObject_GetBuffer(object.ptr(), &view_,
                               PyBUF_ANY_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) != 0)
            refuse();
        held_ = true;
    }
    ~Buffer()
    {
        if (held_)
            PyBuffer_Release(&view_);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    void *data() const
    {
        return held_ ? view_.buf : nullptr;
    }
    uint64_t bytes() const
    {
        return held_ ? static_cast<uint64_t>(view_.len) : 0;
    }

  private:
    [[noreturn]] static void refuse()
    {
        py::error_already_set reason;
        std::string said = py::str(reason.value());
        py::object kind = py::module_::import("pse.errors").attr("UsageError");
        py::object error =
            kind("a buffer can't be used for communication: " + said,
                 py::arg("help") = "give an array that is contiguous, and writable if it receives: "
                                   "numpy.ascontiguousarray makes one");
        PyErr_SetObject(kind.ptr(), error.ptr());
        throw py::error_already_set();
    }

    Py_buffer view_{};
    bool held_ = false;
};

// Where the program called: the innermost frame of Python that isn't this room's.
std::string place_of_call()
{
    py::object frame = py::module_::import("sys").attr("_getframe")();
    for (; !frame.is_none(); frame = frame.attr("f_back")) {
        std::string module = py::str(frame.attr("f_globals").attr("get")("__name__", ""));
        if (module.rfind("pse.coschedule", 0) != 0)
            return py::str(
                py::str("{}:{}").format(frame.attr("f_code").attr("co_filename"), frame.attr("f_lineno")));
    }
    return "";
}

// One call of a routine, noted by the monitor if that is on, and for whoever looks on.
class Noted
{
  public:
    Noted(Engine &engine, uint32_t primitive, bool blocking, uint64_t bytes = 0)
        : engine_(engine), monitor_(engine.monitor()), primitive_(primitive), blocking_(blocking),
          bytes_(bytes), enter_(monitor_.enter() ? pse_clock() : 0)
    {
        if (engine.is_observed())
            engine.enter_call(primitive, place_of_call().c_str());
        if (engine.trace())
            engine.trace()->enter(primitive);
    }
    ~Noted()
    {
        if (engine_.trace())
            engine_.trace()->leave();
        if (engine_.is_observed())
            engine_.leave_call();
        if (enter_)
            monitor_.add(primitive_, bytes_, blocking_, enter_, pse_clock());
    }
    Noted(const Noted &) = delete;
    Noted &operator=(const Noted &) = delete;

  private:
    Engine &engine_;
    Monitor &monitor_;
    uint32_t primitive_;
    bool blocking_;
    uint64_t bytes_, enter_;
};

// Do something without Python's lock, again as long as it is interrupted by signals that Python survives.
template <class Step> void persist(Step is_interrupted)
{
    for (;;) {
        bool again;
        {
            py::gil_scoped_release release;
            again = is_interrupted();
        }
        if (!again)
            return;
        if (PyErr_CheckSignals() != 0)
            throw py::error_already_set();
    }
}

// Post a descriptor; nothing if the layer has failed.
template <class Operation> std::optional<uint32_t> begin(Operation operation)
{
    py::gil_scoped_release release;
    uint32_t index = operation();
    return index == none ? std::nullopt : std::optional(index);
}

pse_bcs_outcome wait(Engine &engine, const std::vector<uint32_t> &requests, Wait mode)
{
    pse_bcs_outcome outcome;
    persist([&] { return (outcome = engine.wait(requests, mode)) == PSE_BCS_WAIT_INTERRUPTED; });
    return outcome;
}

// Source, tag, bytes and whether it was truncated; None if the layer has failed.
py::object finish(Engine &engine, uint32_t request, pse_bcs_outcome outcome)
{
    if (outcome != PSE_BCS_WAIT_COMPLETE)
        return py::none();
    Status status = engine.status(request);
    engine.release(request);
    return py::make_tuple(status.source, status.tag, status.bytes, status.truncated);
}

// Post a descriptor and wait until it is complete.
template <class Operation> py::object complete(Engine &engine, Operation operation)
{
    uint32_t index = none;
    pse_bcs_outcome outcome = PSE_BCS_WAIT_INTERRUPTED;
    persist([&] {
        if (index == none)
            index = operation();
        return index != none && (outcome = engine.wait({index}, Wait::all)) == PSE_BCS_WAIT_INTERRUPTED;
    });
    return index == none ? py::object(py::none()) : finish(engine, index, outcome);
}

py::object send(Engine &engine, const py::object &data, int32_t dest, int32_t tag)
{
    Buffer buffer(data, false);
    Noted noted(engine, PSE_BCS_SEND, true, buffer.bytes());
    return complete(engine, [&] { return engine.send(buffer.data(), buffer.bytes(), dest, tag, true); });
}

std::optional<uint32_t> isend(Engine &engine, const py::object &data, int32_t dest, int32_t tag)
{
    Buffer buffer(data, false);
    Noted noted(engine, PSE_BCS_ISEND, false, buffer.bytes());
    return begin([&] { return engine.send(buffer.data(), buffer.bytes(), dest, tag, false); });
}

py::object receive(Engine &engine, const py::object &data, int32_t source, int32_t tag)
{
    Buffer buffer(data, true);
    Noted noted(engine, PSE_BCS_RECV, true, buffer.bytes());
    return complete(engine, [&] { return engine.receive(buffer.data(), buffer.bytes(), source, tag, true); });
}

std::optional<uint32_t> ireceive(Engine &engine, const py::object &data, int32_t source, int32_t tag)
{
    Buffer buffer(data, true);
    Noted noted(engine, PSE_BCS_IRECV, false, buffer.bytes());
    return begin([&] { return engine.receive(buffer.data(), buffer.bytes(), source, tag, false); });
}

py::object probe(Engine &engine, int32_t source, int32_t tag)
{
    Noted noted(engine, PSE_BCS_PROBE, true);
    return complete(engine, [&] { return engine.probe(source, tag); });
}

// False: there is no such message.
py::object iprobe(Engine &engine, int32_t source, int32_t tag)
{
    Noted noted(engine, PSE_BCS_IPROBE, true);
    auto index = begin([&] { return engine.probe(source, tag); });
    if (!index)
        return py::none();
    pse_bcs_outcome outcome = wait(engine, {*index}, Wait::test);
    if (outcome != PSE_BCS_WAIT_INCOMPLETE)
        return finish(engine, *index, outcome);
    engine.release(*index);
    return py::bool_(false);
}

py::object wait_one(Engine &engine, uint32_t request)
{
    Noted noted(engine, PSE_BCS_WAIT, true);
    return finish(engine, request, wait(engine, {request}, Wait::all));
}

template <Wait mode, pse_bcs_primitive primitive>
int wait_for(Engine &engine, const std::vector<uint32_t> &requests)
{
    Noted noted(engine, primitive, true);
    return static_cast<int>(wait(engine, requests, mode));
}

// The place of a request that is complete; None if the layer has failed.
std::optional<uint32_t> wait_any(Engine &engine, const std::vector<uint32_t> &requests)
{
    Noted noted(engine, PSE_BCS_WAITANY, true);
    return wait(engine, requests, Wait::one) == PSE_BCS_WAIT_COMPLETE ? std::optional(engine.answer())
                                                                      : std::nullopt;
}

using Pieces = std::vector<std::pair<uint64_t, uint64_t>>;

std::vector<Piece> pieces_of(const Pieces &given)
{
    std::vector<Piece> pieces;
    for (auto [offset, bytes] : given)
        pieces.push_back({offset, bytes});
    return pieces;
}

// A call of a collective operation.  `reduction`: the address of MPI_Reduce_local, the handles of type and
// operation, the bytes of an element, and what type and operation mean on every rank.
class Collected
{
  public:
    Collected(int operation, int32_t root, const py::object &data, const py::object &target,
              const Pieces &pieces, const Pieces &targets, const std::array<uint64_t, 5> &reduction,
              bool blocking)
        : from_(data, false), into_(target, true), what_{static_cast<pse_bcs_collective>(operation),
                                                         root,
                                                         from_.data(),
                                                         from_.bytes(),
                                                         into_.data(),
                                                         pieces_of(pieces),
                                                         blocking}
    {
        call_.reduction = {reinterpret_cast<void *>(reduction[0]), reduction[1], reduction[2], reduction[3],
                           static_cast<uint32_t>(reduction[4])};
        call_.target = pieces_of(targets);
    }
    uint64_t bytes() const
    {
        return what_.bytes;
    }
    uint32_t post(Engine &engine) const
    {
        return engine.collective(what_, call_);
    }

  private:
    Buffer from_, into_;
    Engine::Collection what_;
    Call call_;
};

py::object collective(Engine &engine, int operation, int32_t root, const py::object &data,
                      const py::object &target, const Pieces &pieces, const Pieces &targets,
                      const std::array<uint64_t, 5> &reduction)
{
    Collected call(operation, root, data, target, pieces, targets, reduction, true);
    Noted noted(engine, PSE_BCS_FIRST_BLOCKING + static_cast<uint32_t>(operation), true, call.bytes());
    return complete(engine, [&] { return call.post(engine); });
}

std::optional<uint32_t> icollective(Engine &engine, int operation, int32_t root, const py::object &data,
                                    const py::object &target, const Pieces &pieces, const Pieces &targets,
                                    const std::array<uint64_t, 5> &reduction)
{
    Collected call(operation, root, data, target, pieces, targets, reduction, false);
    Noted noted(engine, PSE_BCS_FIRST_IMMEDIATE + static_cast<uint32_t>(operation), false, call.bytes());
    return begin([&] { return call.post(engine); });
}

py::dict describe(const Distribution &one, uint32_t resolution)
{
    py::dict found;
    found["resolution"] = resolution;
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
    py::dict found, latencies, sizes;
    found["computation"] = describe(monitor.computation_until(pse_clock()), monitor.resolution());
    found["communication"] = describe(monitor.communication(), monitor.resolution());
    for (const Monitor::Routine &one : monitor.routines()) {
        if (!one.latency.count)
            continue;
        latencies[one.name.c_str()] = describe(one.latency, monitor.resolution());
        sizes[one.name.c_str()] = describe(one.size, monitor.resolution());
    }
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

// Nothing, or why another node can't be reached.
std::string connect(Engine &engine, const py::bytes &endpoints)
{
    std::string known = endpoints;
    py::gil_scoped_release release;
    try {
        engine.connect(known);
    } catch (const std::system_error &error) {
        return error.what();
    }
    return "";
}

py::dict totals(const Engine &engine)
{
    const Shared &shared = engine.segment().shared();
    py::dict found;
    found["slices"] = shared.slice;
    found["epochs"] = shared.epoch;
    found["timed"] = shared.timed;
    found["late"] = shared.late;
    found["length"] = shared.pace.length;
    found["matches"] = shared.logged;
    found["messages"] = shared.node_messages;
    return found;
}

// When slices that come so late (ns) begin, and their lengths.
std::vector<std::pair<uint64_t, uint64_t>> paced(uint64_t length, const std::vector<uint64_t> &lateness)
{
    std::vector<std::pair<uint64_t, uint64_t>> found;
    Pace pace{length, 0};
    uint64_t boundary = 0;
    for (uint64_t late : lateness) {
        boundary = pace.boundary_after(boundary);
        if (pace.falls_behind(late))
            pace.lengthen(boundary);
        found.emplace_back(boundary, pace.length);
    }
    return found;
}

// Rank, operation and bytes of each collective operation that is under way.
py::list collectives(const Engine &engine)
{
    const Segment &segment = engine.segment();
    py::list found;
    auto add = [&](uint32_t, const Descriptor &one) {
        if (one.kind == PSE_BCS_KIND_COLLECTIVE &&
            (one.state == State::posted || one.state == State::exchanged))
            found.append(py::make_tuple(one.owner, static_cast<int>(one.operation), one.bytes));
    };
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++)
        segment.visit_descriptors(rank, add);
    return found;
}

// Why no rank can go on; the names are those of collective operations, by their numbers.
std::string deadlock(const Engine &engine, const std::vector<std::string> &collectives)
{
    std::vector<const char *> names{nullptr};
    for (const std::string &name : collectives)
        names.push_back(name.c_str());
    return deadlock_text(engine.segment(), names.data());
}

// What is under way in a layer: kind, owner, peer, tag, operation, bytes, how many operations and collective
// ones its owner had posted before, whether no slice has seen it yet, whether its bytes move, whether its
// owner waits for it, and whether the node that was asked is its owner's.
py::tuple operation(const Segment &segment, const Descriptor &one, uint32_t asked)
{
    bool is_new = one.state == State::posted, is_matched = !is_new && one.state != State::exchanged;
    return py::make_tuple(static_cast<int>(one.kind), one.owner, one.peer, one.tag,
                          static_cast<int>(one.operation), one.bytes, one.sequence, one.number, is_new,
                          is_matched, one.awaited != 0,
                          segment.rank(one.owner).node == segment.rank(asked).node);
}

py::list operations(const Segment &segment)
{
    py::list found;
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++) {
        auto add = [&](const Descriptor &one) { found.append(operation(segment, one, rank)); };
        uint32_t first = rank * segment.operations();
        if (segment.is_here(rank))
            visit_operations(segment, rank, add);
        else
            for (uint32_t index = first; index < first + segment.rank(rank).shown; index++)
                add(segment.shown(index));
    }
    return found;
}

// Node, process, whether it has left, whether it is blocked, the routine it is in, and where, of each rank.
py::list ranks(const Segment &segment)
{
    py::list found;
    for (uint32_t rank = 0; rank < segment.options().ranks; rank++) {
        const Rank &one = segment.rank(rank);
        found.append(py::make_tuple(one.node, one.process.load(), one.left != 0, one.blocked.load() != 0,
                                    one.call, std::string(one.place)));
    }
    return found;
}

// Kind, owner, peer, tag and operation of each operation of this rank that its program has not seen complete,
// and of its messages that nobody has received.
py::list open_operations(const Engine &engine)
{
    const Segment &segment = engine.segment();
    py::list found;
    segment.visit_descriptors(engine.me(), [&](uint32_t, const Descriptor &one) {
        if (one.state != State::free && !(one.state == State::done && one.released))
            found.append(py::make_tuple(static_cast<int>(one.kind), one.owner, one.peer, one.tag,
                                        static_cast<int>(one.operation)));
    });
    return found;
}

py::tuple mark(Engine &engine)
{
    Engine::Mark now = engine.mark();
    return py::make_tuple(now.sequence, now.answers, now.slice, now.epoch);
}

// Peer, tag, sequence, epoch and bytes of each message of this rank that nobody has received.
py::list unreceived(Engine &engine)
{
    py::list found;
    for (const Engine::Unreceived &one : engine.unreceived())
        found.append(py::make_tuple(one.peer, one.tag, one.sequence, one.epoch,
                                    py::bytes(reinterpret_cast<const char *>(one.data), one.bytes)));
    return found;
}

using Message = std::tuple<int32_t, int32_t, uint64_t, uint64_t, py::bytes>;

void restore(Engine &engine, const std::array<uint64_t, 4> &mark, const std::vector<Message> &messages,
             const py::bytes &schedule)
{
    std::vector<Engine::Unreceived> unreceived;
    for (const auto &[peer, tag, sequence, epoch, data] : messages) {
        std::string_view bytes = data;
        unreceived.push_back(
            {peer, tag, sequence, epoch, reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    }
    std::string_view rows = schedule;
    for (size_t at = 0; at + sizeof(pse_bcs_match) <= rows.size(); at += sizeof(pse_bcs_match)) {
        pse_bcs_match row;
        std::memcpy(&row, rows.data() + at, sizeof row);
        engine.segment().log(row);
    }
    engine.restore({mark[0], mark[1], mark[2], mark[3]}, unreceived);
}

py::dict state(Observer &observer)
{
    const Segment &segment = observer.segment();
    const Shared &shared = segment.shared();
    {
        py::gil_scoped_release release;
        observer.look();
    }
    std::lock_guard guard(observer);
    py::dict found;
    found["begun"] = shared.begun.load();
    found["slice"] = shared.slice;
    found["held"] = shared.armed.load() && shared.begun.load() >= shared.allowed.load();
    bool in_slice = !shared.failure.load() && (shared.in_slice || shared.ended != shared.seen_ended);
    found["moving"] = shared.moving > 0 || shared.moving_elsewhere || in_slice;
    found["in_slice"] = in_slice;
    found["failure"] = shared.failure.load();
    found["culprit"] = shared.culprit;
    found["ranks"] = ranks(segment);
    found["operations"] = operations(segment);
    return found;
}

} // namespace

PYBIND11_MODULE(_coschedule, module)
{
    module.doc() = "One rank's end of the coscheduled communication layer.";
    translate_system_errors();
    module.def("shortest_slice", [](uint64_t lateness) { return shortest_slice(lateness); });
    module.def("shortest_slice", [](uint64_t length, const py::function &lateness) {
        return shortest_slice(length, [&] { return lateness().cast<uint64_t>(); });
    });
    module.def("paced", &paced);
    module.def("trace_directory", &trace_directory);
    py::class_<MonitorSettings>(module, "MonitorSettings")
        .def(py::init(&MonitorSettings::of_environment))
        .def("is_monitored", &MonitorSettings::is_monitored)
        .def_readonly("reports", &MonitorSettings::reports)
        .def_readonly("slices", &MonitorSettings::slices)
        .def_readonly("first", &MonitorSettings::first)
        .def_readonly("last", &MonitorSettings::last)
        .def_readonly("kept", &MonitorSettings::kept)
        .def_readonly("metrics", &MonitorSettings::metrics);
    py::class_<Engine>(module, "Engine")
        .def(py::init([](uint32_t ranks, uint32_t table, bool strict, bool ordered, uint64_t slice,
                         uint64_t chunk, bool adapted, uint32_t monitored, uint32_t logged,
                         std::pair<uint64_t, uint64_t> window, const py::bytes &replay,
                         const std::vector<uint32_t> &nodes, uint32_t leader) {
                 std::string_view known = replay;
                 uint32_t last = nodes.empty() ? 0 : *std::max_element(nodes.begin(), nodes.end());
                 return new Engine(
                     Options{ranks, table, strict, ordered, slice, chunk, adapted, monitored, logged,
                             static_cast<uint32_t>(known.size() / sizeof(pse_bcs_match)), last + 1,
                             nodes.empty() ? 0 : nodes.at(leader), leader, 0, window.first, window.second},
                     nodes, reinterpret_cast<const pse_bcs_match *>(known.data()));
             }),
             py::kw_only(), py::arg("ranks"), py::arg("table"), py::arg("strict"), py::arg("ordered"),
             py::arg("slice"), py::arg("chunk"), py::arg("adapted"), py::arg("monitored"), py::arg("logged"),
             py::arg("window"), py::arg("replay"), py::arg("nodes") = std::vector<uint32_t>(),
             py::arg("leader") = 0)
        .def(py::init<pid_t, int, int, uint32_t>())
        .def("files",
             [](Engine &engine) { return py::make_tuple(engine.segment_file(), engine.bells_file()); })
        .def("shortest_slice", &Engine::shortest_slice, py::call_guard<py::gil_scoped_release>())
        .def("pace_text", &Engine::pace_text)
        .def("endpoint", [](const Engine &engine) { return py::bytes(engine.endpoint()); })
        .def("connect", &connect)
        .def("try_reading", &Engine::try_reading)
        .def("is_leader", &Engine::is_leader)
        .def("begin", &Engine::begin, py::call_guard<py::gil_scoped_release>())
        .def("leave", &Engine::leave, py::call_guard<py::gil_scoped_release>())
        .def("send", &send)
        .def("isend", &isend)
        .def("receive", &receive)
        .def("ireceive", &ireceive)
        .def("probe", &probe)
        .def("iprobe", &iprobe)
        .def("collective", &collective)
        .def("icollective", &icollective)
        .def("wait", &wait_one)
        .def("take",
             [](Engine &engine, uint32_t request) { return finish(engine, request, PSE_BCS_WAIT_COMPLETE); })
        .def("wait_all", &wait_for<Wait::all, PSE_BCS_WAITALL>)
        .def("wait_any", &wait_any)
        .def("test", &wait_for<Wait::test, PSE_BCS_TEST>)
        .def("most_operations", [](const Engine &engine) { return engine.segment().operations(); })
        .def("failure",
             [](Engine &engine) {
                 const Shared &shared = engine.segment().shared();
                 return py::make_tuple(shared.failure.load(), shared.culprit, shared.other);
             })
        .def("collectives", &collectives)
        .def("deadlock_text", &deadlock)
        .def("totals", &totals)
        .def("slices",
             [](Engine &engine) {
                 std::vector<pse_bcs_slice> found = engine.segment().kept_slices();
                 return rows(found.data(), found.size(), found.size());
             })
        .def("matches",
             [](Engine &engine) {
                 const Segment &segment = engine.segment();
                 return rows(segment.matches(), segment.shared().logged, segment.options().logged);
             })
        // Rank of the job; number here and with rank 0; ranks of the job; names of routines.
        .def("trace",
             [](Engine &engine, uint32_t rank, uint32_t number, uint32_t leaders,
                const std::vector<uint32_t> &ranks, const std::vector<std::string> &routines) {
                 engine.trace({PSE_COMM_EVENTS, rank, number, leaders, ranks, routines});
             })
        .def("begin_monitor",
             [](Engine &engine, const std::vector<std::string> &routines) {
                 engine.monitor().begin(MonitorSettings::of_environment(), pse_clock());
                 for (const std::string &name : routines)
                     engine.monitor().routine(name);
             })
        .def("write_report",
             [](Engine &engine, const std::string &folder, uint32_t layer) {
                 write_report(folder, layer, engine.me(), engine.monitor());
             })
        .def("write_slices", [](Engine &engine, const std::string &folder,
                                uint32_t layer) { write_slices(folder, layer, engine.segment()); })
        .def("end_monitor", [](Engine &engine) { engine.monitor().end(pse_clock()); })
        .def("monitored", &monitored)
        .def("open_operations", &open_operations)
        .def("mark", &mark)
        .def("set_sequence", &Engine::set_sequence)
        .def("unreceived", &unreceived)
        .def("restore", &restore);
    module.def("message_text", [](int kind, int32_t peer, int32_t tag) {
        return message_text(static_cast<pse_bcs_kind>(kind), peer, tag);
    });
    py::class_<Observer>(module, "Observer")
        .def(py::init<pid_t, int>())
        .def("state", &state)
        .def("allow", &Observer::allow)
        .def("hold", &Observer::hold)
        .def("new_matches", [](Observer &observer) {
            std::lock_guard guard(observer);
            std::vector<pse_bcs_match> found = observer.new_matches();
            return rows(found.data(), found.size(), found.size());
        });
    module.def("node_of", [](pid_t process, int file) { return Segment(process, file).options().node; });
    // Of a layer of several nodes: the machine and the process of rank 0.
    module.def("root_of", [](pid_t process, int file) {
        ProcessPlace root = Segment(process, file).shared().root;
        return py::make_tuple(std::string(root.host), root.process);
    });
}
