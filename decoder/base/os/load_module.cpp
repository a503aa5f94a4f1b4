#include "decoder/base/os/load_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// Message of dlerror() on one line.
std::string last_error() {
  const char* text = dlerror();
  std::string line = text == nullptr ? "unknown error" : text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

fs::path program_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw DeviceError("/proc/self/exe: cannot be read: " + error.message() + "; is /proc mounted?");
  return program.parent_path();
}

std::vector<fs::path> module_places(const char* file_name) {
  const fs::path program = program_folder();
  return {program.parent_path() / "lib" / file_name, program.parent_path() / "lib/headroom" / file_name,
          program / file_name};
}

fs::path present_module(const std::vector<fs::path>& places, const char* what) {
  const auto present = std::find_if(places.begin(), places.end(), [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
  });
  if (present == places.end()) {
    const std::string name = places.empty() ? "module" : places.front().filename().string();
    throw DeviceError(std::string("built without ") + what + ": there is no " + name + " beside the program");
  }
  return *present;
}

void* module_entry(const fs::path& module, const char* name) {
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw DeviceError("cannot load " + module.string() + ": " + last_error());
  void* entry = dlsym(handle, name);
  if (entry == nullptr) throw DeviceError("cannot load " + module.string() + ": " + last_error());
  return entry;
}

}  // namespace headroom
