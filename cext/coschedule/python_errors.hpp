// What the extensions of this room tell Python of errors of the system.
#pragma once

#include <pybind11/pybind11.h>

#include <system_error>

namespace pse::coschedule
{

// std::system_error becomes OSError with its number and text: pybind11 itself makes a RuntimeError of it.
inline void translate_system_errors()
{
    pybind11::register_local_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer)
                std::rethrow_exception(pointer);
        } catch (const std::system_error &error) {
            PyErr_SetObject(PyExc_OSError, pybind11::make_tuple(error.code().value(), error.what()).ptr());
        }
    });
}

} // namespace pse::coschedule
