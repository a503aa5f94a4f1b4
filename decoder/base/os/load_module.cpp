#include "decoder/base/os/load_module.h"

#include <dlfcn.h>

#include <algorithm>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

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
  void* library = open_library(module.c_str());
  void* entry = symbol_of(library, name);
  if (entry == nullptr) throw DeviceError("cannot load " + module.string() + ": " + library_failure());
  return entry;
}

void* open_library(const char* name) noexcept {
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void* loaded_library(const char* name) noexcept {
  return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

void close_library(void* library) noexcept {
  dlclose(library);
}

std::string library_failure() {
  const char* text = dlerror();
  std::string line = text == nullptr ? "unknown error" : text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void* symbol_of(void* library, const char* name) noexcept {
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace headroom
