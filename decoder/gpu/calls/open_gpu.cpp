#include "decoder/gpu/calls/open_gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>

#include "decoder/graph/errors.h"

namespace headroom::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "headroom-cuda.so";

/// What dlerror says, as one line.
std::string last_error() {
  const char* text = dlerror();
  std::string line = text == nullptr ? "unknown error" : text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

std::unique_ptr<Gpu> open_gpu() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  return open_gpu({program.parent_path() / "lib" / kModule, program / kModule});
}

std::unique_ptr<Gpu> open_gpu(const std::vector<fs::path>& modules) {
  const auto present = std::find_if(modules.begin(), modules.end(), [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  });
  if (present == modules.end())
    throw DeviceError(std::string("built without CUDA: there is no ") + kModule + " beside the program");
  // Never closed: its libraries do not bear being loaded twice.
  void* module = dlopen(present->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw DeviceError("cannot load " + present->string() + ": " + last_error());
  const auto open = reinterpret_cast<OpenGpu>(dlsym(module, kOpenGpu));
  if (open == nullptr) throw DeviceError("cannot load " + present->string() + ": " + last_error());
  std::array<char, 1024> error{};
  Gpu* gpu = open(HEADROOM_VERSION, error.data(), error.size());
  if (gpu == nullptr) throw DeviceError(std::string("cannot use CUDA: ") + error.data());
  return std::unique_ptr<Gpu>(gpu);
}

}  // namespace headroom::gpu
