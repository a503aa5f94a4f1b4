#include "planner/python/python_memory.h"

#include <nanobind/stl/string.h>

#include <utility>

namespace headroom::python {

namespace nb = nanobind;

PythonMemory::PythonMemory(nb::object memory) : memory_(std::move(memory)) {}

PythonMemory::~PythonMemory() {
  const nb::gil_scoped_acquire gil;
  memory_.reset();
}

std::string PythonMemory::name() const {
  const nb::gil_scoped_acquire gil;
  return nb::cast<std::string>(memory_.attr("name")());
}

std::byte* PythonMemory::reserve(int64_t bytes) {
  const nb::gil_scoped_acquire gil;
  return reinterpret_cast<std::byte*>(nb::cast<uintptr_t>(memory_.attr("reserve")(bytes)));
}

void* PythonMemory::stream() {
  const nb::gil_scoped_acquire gil;
  return reinterpret_cast<void*>(nb::cast<uintptr_t>(memory_.attr("stream")()));
}

void PythonMemory::release() noexcept {
  const nb::gil_scoped_acquire gil;
  try {
    memory_.attr("release")();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("headroom: giving a GPU's memory back");
  }
}

}  // namespace headroom::python
