#pragma once

#include <nanobind/nanobind.h>

// The module `headroom._core`. It is internal: users import `headroom` (planner/python/headroom).
namespace headroom::python {

void bind_exceptions(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_planner(nanobind::module_& module);
void bind_decoder(nanobind::module_& module);

}  // namespace headroom::python
