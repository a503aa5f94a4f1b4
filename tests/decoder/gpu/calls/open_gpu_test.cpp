#include "decoder/gpu/calls/open_gpu.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "decoder/base/errors.h"

namespace headroom::gpu {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

std::string refusal(const std::vector<fs::path>& modules) {
  try {
    open_gpu(modules);
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "";
}

TEST_CASE("a program without the module says that it was built without CUDA") {
  CHECK_THAT(refusal({"/nowhere/lib/headroom-cuda.so", "/nowhere/bin/headroom-cuda.so"}),
             Contains("built without CUDA") && Contains("headroom-cuda.so"));
}

TEST_CASE("a module that cannot be loaded is named, with the reason") {
  const fs::path file = fs::temp_directory_path() / "headroom-open-gpu-test.so";
  std::ofstream(file) << "no module";
  CHECK_THAT(refusal({"/nowhere/headroom-cuda.so", file}), Contains(file.string()) && Contains("too short"));
  fs::remove(file);
}

TEST_CASE("a library that is no module of ours is named") {
  CHECK_THAT(refusal({"/proc/self/exe"}), Contains("/proc/self/exe"));
}

TEST_CASE("the module opens a GPU or says why there is none") {
  const fs::path module = fs::path(HEADROOM_BIN).parent_path() / "lib" / "headroom-cuda.so";
  if (!fs::exists(module)) {
    CHECK_THAT(refusal({module}), Contains("built without CUDA"));
    return;
  }
  std::unique_ptr<Gpu> gpu;
  try {
    gpu = open_gpu({module});
  } catch (const DeviceError& error) {
    WARN(error.what());
    const std::string line = error.what();
    CHECK_THAT(line, Contains("cannot use CUDA: no GPU: "));
    CHECK(line.find('\n') == std::string::npos);
    return;
  }
  WARN(gpu->device() + "; " + gpu->libraries());
  CHECK_THAT(gpu->device(), Contains("driver"));
  CHECK_THAT(gpu->libraries(), Contains("LibTorch") && Contains("CUDA 1") && Contains("cuDNN 9"));
  CHECK(gpu->free_bytes() > 0);
  CHECK(gpu->free_bytes() <= gpu->total_bytes());
}

}  // namespace
}  // namespace headroom::gpu
