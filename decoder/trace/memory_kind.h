#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom {

/// Use of a device's memory. The decode itself asks for the first five kinds. The next three exist only on a
/// GPU, the last only on a CPU.
enum class MemoryKind : uint8_t {
  weights,
  latent,
  kept,
  tile,
  workspace,
  slack,  ///< reserved by LibTorch's allocator and free at the moment; in plans the gaps of the reservation
  libraries,  ///< taken from the driver by libraries themselves: only the driver sees it
  context,    ///< the CUDA context, modules and all else that the driver counts
  outside     ///< growth of the process outside the pool; in plans the reserve for it
};
constexpr size_t kDecodeKinds = 5;  ///< the first ones
constexpr size_t kEventKinds = 8;   ///< the first ones, of which a trace has events
constexpr size_t kMemoryKinds = 9;

/// Names of a kind of memory: `key` in files, `title` for people.
struct MemoryKindNames {
  const char* key;
  const char* title;
};
/// By kind. Colours are by kind as well (reports/figures/chart.h).
constexpr std::array<MemoryKindNames, kMemoryKinds> kMemoryKindNames{{{"weights", "weights"},
                                                                      {"latent", "latent"},
                                                                      {"kept", "kept tensors"},
                                                                      {"tile", "tiles"},
                                                                      {"workspace", "workspace"},
                                                                      {"slack", "slack"},
                                                                      {"libraries", "libraries"},
                                                                      {"context", "context and modules"},
                                                                      {"outside", "other process memory"}}};
constexpr const char* key_of(MemoryKind kind) {
  return kMemoryKindNames[static_cast<size_t>(kind)].key;
}
constexpr const char* title_of(MemoryKind kind) {
  return kMemoryKindNames[static_cast<size_t>(kind)].title;
}

}  // namespace headroom
