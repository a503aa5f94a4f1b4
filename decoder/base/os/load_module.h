#pragma once

#include <filesystem>
#include <vector>

// Code that needs CUDA or LibTorch lives in modules: shared libraries that a program loads on demand. So
// programs start fast, and also run without CUDA and LibTorch.
namespace headroom {

/// The folder of this program. Throws DeviceError where /proc is not mounted.
std::filesystem::path program_folder();

/// Paths to search for a module: lib/ and lib/headroom/ beside the program's folder, then the program's
/// folder.
std::vector<std::filesystem::path> module_places(const char* file_name);

/// The first of these files that exists. Throws DeviceError, "built without `what`", if none exists.
std::filesystem::path present_module(const std::vector<std::filesystem::path>& places, const char* what);

/// Loads a module and returns its function `name`. Throws DeviceError with a one-line reason. The module
/// stays loaded, because its libraries fail when loaded a second time.
void* module_entry(const std::filesystem::path& module, const char* name);

template <typename Entry>
Entry load_entry(const std::filesystem::path& module, const char* name) {
  return reinterpret_cast<Entry>(module_entry(module, name));
}

}  // namespace headroom
