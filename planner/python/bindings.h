#pragma once

#include <nanobind/nanobind.h>

// The module `headroom_vae._core`. It is internal: users import `headroom_vae` (planner/python/headroom_vae).
namespace headroom::python {

void bind_exceptions(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_planner(nanobind::module_& module);
void bind_decoder(nanobind::module_& module);
void bind_streams(nanobind::module_& module);

}  // namespace headroom::python
