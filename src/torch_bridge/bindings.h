#pragma once
// Parts of the Python module that live in files of their own.

#include <pybind11/pybind11.h>

namespace tp::bridge {

// Devices, streams, memory statistics, generators: device_bindings.cc.
void bind_device(pybind11::module_& m);

}  // namespace tp::bridge
