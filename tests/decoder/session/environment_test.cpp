#include "decoder/session/environment.h"

#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "tests/decoder/files/scratch.h"
#include "tests/emulated_gpu/emulated_gpu.h"

namespace headroom {
namespace {

TEST_CASE("costs hold for the GPU that is open, or for this machine") {
  const gpu::EmulatedGpu gpu;
  CHECK(environment_here(&gpu) == Environment{"emulated GPU", "emulator"});
  CHECK(environment_here(nullptr) == Environment{device_name(), library_versions()});
}

TEST_CASE("a refusal has both environments in full, whatever part of them differs") {
  const Environment here{"NVIDIA H200, driver 580.159",
                         "LibTorch 2.11.0, CUDA 13.0, cuDNN 9.13.1, cuBLAS 13.1"};
  Plan plan;
  CHECK_NOTHROW(check_environment(plan, here, "plan.json"));  // a plan by assumed costs names no environment
  plan.environment = here;
  CHECK_NOTHROW(check_environment(plan, here, "plan.json"));
  for (const Environment& other :
       {Environment{"NVIDIA H100, driver 580.159", here.libraries},
        Environment{"NVIDIA H200, driver 590.10", here.libraries},
        Environment{here.device, "LibTorch 2.12.0, CUDA 13.0, cuDNN 9.13.1, cuBLAS 13.1"},
        Environment{here.device, "LibTorch 2.11.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.1"}}) {
    plan.environment = other;
    test::require_input_error(
        [&] { check_environment(plan, here, "plan.json"); },
        {"plan.json: environment: ", "measured on " + other.device + " (" + other.libraries + ")",
         "this is " + here.device + " (" + here.libraries + ")", "--other-environment"});
  }
}

}  // namespace
}  // namespace headroom
