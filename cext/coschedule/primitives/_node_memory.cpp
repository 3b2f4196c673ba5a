// The Python face of the core primitives on one machine: pse.coschedule._node_memory.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "primitives.hpp"
#include "python_errors.hpp"

namespace py = pybind11;
using namespace pse::coschedule;

namespace
{

// The bytes of a contiguous object, for as long as the call lasts.
class Bytes
{
  public:
    Bytes(const py::object &object)
    {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_ANY_CONTIGUOUS) != 0)
            throw py::error_already_set();
    }
    ~Bytes()
    {
        PyBuffer_Release(&view_);
    }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;
    const void *data() const
    {
        return view_.buf;
    }
    uint64_t size() const
    {
        return static_cast<uint64_t>(view_.len);
    }

  private:
    Py_buffer view_{};
};

uint32_t event_or_none(std::optional<uint32_t> event)
{
    return event.value_or(no_event);
}

void put(NodeMemory &memory, const py::object &data, uint64_t offset, const std::vector<uint32_t> &nodes,
         uint32_t origin, std::optional<uint32_t> local, std::optional<uint32_t> remote)
{
    Bytes bytes(data);
    py::gil_scoped_release release;
    memory.put(bytes.data(), bytes.size(), offset, nodes,
               Signals{origin, event_or_none(local), event_or_none(remote)});
}

bool compare_and_write(NodeMemory &memory, uint64_t offset, uint32_t comparison, Variable value,
                       const std::vector<uint32_t> &nodes, std::optional<std::pair<uint64_t, Variable>> write)
{
    auto one = static_cast<Comparison>(comparison);
    py::gil_scoped_release release;
    return write ? memory.compare_and_write(offset, one, value, nodes, write->first, write->second)
                 : memory.compare(offset, one, value, nodes);
}

py::bytes read_copy(NodeMemory &memory, uint32_t node, uint64_t offset, uint64_t bytes)
{
    std::string found(bytes, '\0');
    {
        py::gil_scoped_release release;
        memory.read(node, offset, bytes, found.data());
    }
    return py::bytes(found);
}

// A signal that Python survives doesn't end the wait; its time is measured anew then by the caller.
py::object test(NodeMemory &memory, uint32_t node, uint32_t event, uint64_t timeout)
{
    Tested outcome;
    {
        py::gil_scoped_release release;
        outcome = memory.test(node, event, timeout);
    }
    if (outcome != Tested::interrupted)
        return py::bool_(outcome == Tested::signalled);
    if (PyErr_CheckSignals() != 0)
        throw py::error_already_set();
    return py::none();
}

} // namespace

PYBIND11_MODULE(_node_memory, module)
{
    module.doc() =
        "Copies of the global memory of the nodes on one machine, and the core primitives on them.";
    translate_system_errors();
    py::class_<NodeMemory>(module, "NodeMemory")
        .def(py::init<uint32_t, uint64_t, uint32_t>())
        .def_static("open", [](pid_t process, int file) { return new NodeMemory(process, file); })
        .def("file", &NodeMemory::file)
        .def("put", &put)
        .def("compare_and_write", &compare_and_write)
        .def("read", &read_copy)
        .def("test", &test)
        .def(
            "copy",
            [](NodeMemory &memory, uint32_t node) {
                return py::memoryview::from_memory(memory.copy(node),
                                                   static_cast<py::ssize_t>(memory.header().bytes));
            },
            py::keep_alive<0, 1>())
        .def("recovered", [](NodeMemory &memory) {
            return py::make_tuple(memory.header().finished, memory.header().dropped);
        });
}
