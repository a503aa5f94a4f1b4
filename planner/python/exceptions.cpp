#include <exception>

#include "decoder/base/errors.h"
#include "planner/python/bindings.h"

namespace headroom::python {
namespace {

namespace nb = nanobind;

nb::object errors() {
  return nb::module_::import_("headroom_vae.errors");
}

/// Rewrites a message so that it names Python arguments instead of command-line options.
nb::object in_python(const char* message) {
  return errors().attr("in_python")(message);
}

/// Raises the class `name` of headroom_vae/errors.py.
void raise(const char* name, const nb::object& error) {
  PyErr_SetObject(errors().attr(name).ptr(), error.ptr());
}

void raise(const char* name, const std::exception& error) {
  raise(name, in_python(error.what()));
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const DoesNotFit& error) {
    raise("DoesNotFit", nb::make_tuple(in_python(error.what()), error.smallest_limit_bytes));
  } catch (const InputError& error) {
    raise("InputError", error);
  } catch (const LimitExceeded& error) {
    raise("LimitExceeded", error);
  } catch (const DeviceError& error) {
    raise("DeviceError", error);
  }
}

}  // namespace

void bind_exceptions(nb::module_&) {
  nb::register_exception_translator(translate);
}

}  // namespace headroom::python
