#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace headroom::profiler::cupti {

constexpr size_t kMostNameBytes = 200;

/// Readable kernel name: demangled, without result type, parameters and template arguments. Printable ASCII,
/// at most kMostNameBytes. "kernel" if the symbol is empty.
std::string short_kernel_name(const char* symbol);

/// Short kernel names of a recording, computed once per symbol. Thread-safe.
class KernelNames {
 public:
  /// Copies symbols, since their module may be unloaded. After `most` different symbols, further ones are
  /// named "other kernels".
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
