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

/// The entry of that name of a module that exists.
template <typename Entry>
Entry load(const fs::path& path, const char* entry) {
  // Never closed: its libraries do not bear being loaded twice.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) throw DeviceError("cannot load " + path.string() + ": " + last_error());
  const auto found = reinterpret_cast<Entry>(dlsym(module, entry));
  if (found == nullptr) throw DeviceError("cannot load " + path.string() + ": " + last_error());
  return found;
}

/// Of `open(error, error_bytes)`.
template <typename Open>
std::unique_ptr<Gpu> opened(const Open& open) {
  std::array<char, 1024> error{};
  Gpu* gpu = open(error.data(), error.size());
  if (gpu == nullptr) throw DeviceError(std::string("cannot use CUDA: ") + error.data());
  return std::unique_ptr<Gpu>(gpu);
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
  const auto open = load<OpenGpu>(*present, kOpenGpu);
  return opened([&](char* error, size_t bytes) { return open(HEADROOM_VERSION, error, bytes); });
}

std::unique_ptr<Gpu> open_gpu_in(const fs::path& module, std::unique_ptr<DeviceMemory> memory) {
  const auto open = load<OpenGpuIn>(module, kOpenGpuIn);
  return opened(
      [&](char* error, size_t bytes) { return open(HEADROOM_VERSION, memory.release(), error, bytes); });
}

}  // namespace headroom::gpu
