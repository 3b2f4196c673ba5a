// A module as a pybind11 extension: it gets and returns NumPy arrays, like a module in Python.
//
// An argument with the name of an output (`mean`) is an array for the function to fill; noconvert() keeps
// pybind11 from handing over a converted copy instead.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

//@ coven module running_mean(in f64 x[n], in i64 width, out f64 mean[n])
static void running_mean(py::array_t<double> x, py::ssize_t width, py::array_t<double> mean)
{
    if (width < 1)
        throw py::value_error("width must be at least 1");
    auto from = x.unchecked<1>();
    auto to = mean.mutable_unchecked<1>();
    py::gil_scoped_release without_gil;
    double sum = 0.0;
    for (py::ssize_t i = 0; i < from.shape(0); i++) {
        sum += from(i);
        if (i >= width)
            sum -= from(i - width);
        to(i) = sum / static_cast<double>(std::min(i + 1, width));
    }
}

PYBIND11_MODULE(running_mean, m)
{
    m.def("running_mean", &running_mean, py::arg("x"), py::arg("width"), py::arg("mean").noconvert());
}
