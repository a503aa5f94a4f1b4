#include "planner/python/bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "The compiled part of the package headroom_vae.";
  module.attr("__version__") = HEADROOM_VERSION;
  headroom::python::bind_exceptions(module);
  headroom::python::bind_model(module);
  headroom::python::bind_planner(module);
  headroom::python::bind_decoder(module);
  headroom::python::bind_streams(module);
}
