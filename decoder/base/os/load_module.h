#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
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

/// Opens a shared library by its path, or by a name that the system looks up. Null if it cannot be loaded.
void* open_library(const char* name) noexcept;
/// Like open_library(), but only if this process has the library already.
void* loaded_library(const char* name) noexcept;
void close_library(void* library) noexcept;
/// Reason of the last failure in this thread, on one line.
std::string library_failure();
/// Address of a function. Null if the library is null or has none of this name.
void* symbol_of(void* library, const char* name) noexcept;

template <typename Function>
Function function_of(void* library, const char* name) noexcept {
  return reinterpret_cast<Function>(symbol_of(library, name));
}

/// Body of a module's entry function. Returns the object that `open` makes. Returns null and writes the
/// reason to `error` if `open` throws or the caller has another version. Truncates the reason to
/// `error_bytes`.
template <typename Open>
auto answer_entry(const char* version, char* error, size_t error_bytes, const Open& open)
    -> decltype(open()) {
  const auto fail = [&](const char* why) {
    const size_t length = std::min(std::strlen(why), error_bytes - 1);
    std::memcpy(error, why, length);
    error[length] = '\0';
    return nullptr;
  };
  if (std::strcmp(version, HEADROOM_VERSION) != 0)
    return fail("it belongs to another version: " HEADROOM_VERSION);
  try {
    return open();
  } catch (const std::exception& failure) {
    return fail(failure.what());
  }
}

}  // namespace headroom
