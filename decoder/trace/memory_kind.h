#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom {

/// Purpose of device memory. The decode itself allocates the first five kinds. The next three exist only on
/// a GPU, the last only on a CPU.
enum class MemoryKind : uint8_t {
  weights,
  latent,
  kept,
  tile,
  workspace,
  slack,      ///< reserved by LibTorch's allocator but free; in plans, gaps in the reservation
  libraries,  ///< allocated by libraries; only the driver sees it
  context,    ///< the CUDA context, modules and all else that the driver counts
  outside     ///< growth of the process outside the pool; in plans, the reserve for it
};
constexpr size_t kDecodeKinds = 5;  ///< leading kinds that the decode allocates
constexpr size_t kEventKinds = 8;   ///< leading kinds that trace events can have
constexpr size_t kMemoryKinds = 9;

/// Names of a kind of memory: `key` in files, `title` for people.
struct MemoryKindNames {
  const char* key;
  const char* title;
};
/// Indexed by MemoryKind, like the colours in reports/figures/chart.h.
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
