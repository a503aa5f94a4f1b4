#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace headroom::profiler::cupti {

constexpr size_t kMostNameBytes = 200;

/// A kernel's name for people: demangled, without result, parameters and template arguments, in printable
/// ASCII, at most kMostNameBytes. "kernel" where there is none.
std::string short_kernel_name(const char* symbol);

/// The short names of a recording, each worked out once. To be called from any thread.
class KernelNames {
 public:
  /// The symbol is copied: who wrote it may unload its module. Beyond `most` different ones all are
  /// "other kernels".
  explicit KernelNames(size_t most = 100'000) : most_(most) {}

  int32_t index_of(const char* symbol);
  std::string at(int32_t index) const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, int32_t> by_symbol_;
  std::vector<std::string> names_;
  int32_t others_ = -1;
};

}  // namespace headroom::profiler::cupti
