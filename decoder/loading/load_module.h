#pragma once

#include <filesystem>
#include <vector>

// What needs CUDA or LibTorch is in modules of their own, shared libraries that a program loads when it needs
// them. Without them it starts fast, and runs where neither is installed.
namespace headroom {

/// The folder of this program. Throws DeviceError where /proc is not mounted.
std::filesystem::path program_folder();

/// Where a module of that file name may lie: in lib/ or lib/headroom/ beside the program's folder, or beside
/// the program.
std::vector<std::filesystem::path> module_places(const char* file_name);

/// The first of these files that exists. Throws DeviceError, "built without `what`", where none does.
std::filesystem::path present_module(const std::vector<std::filesystem::path>& places, const char* what);

/// The entry of that name of a module that exists. Throws DeviceError, which says why in one line. A module
/// is never closed: its libraries do not bear being loaded twice.
void* module_entry(const std::filesystem::path& module, const char* name);

template <typename Entry>
Entry load_entry(const std::filesystem::path& module, const char* name) {
  return reinterpret_cast<Entry>(module_entry(module, name));
}

}  // namespace headroom
