// The tests of operations and of drawn plans on a GPU, by PyTorch's executor: a module for
// torch_executor_test.py.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "planner/python/torch_gpu.h"
#include "tests/run_tests.h"
#include "tests/support/decoding_gpu.h"

namespace headroom::test {
namespace {

namespace nb = nanobind;

nb::object executor;

/// Runs the tests that match the patterns. Returns the number of failures.
int run(nb::object torch_executor, const std::vector<std::string>& patterns) {
  executor = std::move(torch_executor);
  std::vector<std::string> arguments{"operations_on_torch", "--warn", "NoTests"};
  arguments.insert(arguments.end(), patterns.begin(), patterns.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int failures = 0;
  {
    const nb::gil_scoped_release no_gil;
    failures = run_tests(static_cast<int>(pointers.size()), pointers.data());
  }
  executor.reset();
  return failures;
}

}  // namespace

std::unique_ptr<gpu::Gpu> decoding_gpu() {
  const nb::gil_scoped_acquire gil;
  return std::make_unique<python::TorchGpu>(executor);
}

}  // namespace headroom::test

NB_MODULE(operations_on_torch, module) {
  module.def("run", &headroom::test::run);
}
