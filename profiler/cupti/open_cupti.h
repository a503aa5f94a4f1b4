#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Limits on buffered CUPTI records. Records beyond them count as lost. The defaults allow 256 MiB of unread
/// records and about 350 MiB of events.
struct CuptiBounds {
  size_t buffer_bytes = size_t{4} << 20;
  size_t buffers = 64;
  size_t events = 4'000'000;
};

/// Candidate paths for CUPTI: beside this build's LibTorch, then the loader's search path. Empty if Headroom
/// was built without CUPTI's headers.
std::vector<std::filesystem::path> cupti_libraries();

/// Captures events through CUPTI, NVIDIA's profiling library, with the first library that loads. Call it
/// before the CUDA context exists. Otherwise CUPTI misses earlier allocations and puts its own buffers on the
/// GPU. Only one watcher per process, and one program at a time, can use CUPTI. Never throws: failures are
/// listed in sources().
std::unique_ptr<DeviceWatcher> watch_with_cupti(
    const std::vector<WatchKind>& kinds,
    const std::vector<std::filesystem::path>& libraries = cupti_libraries(), const CuptiBounds& bounds = {});

/// Name of the source in a trace.
inline std::string cupti_source(WatchKind kind) {
  return std::string("CUPTI ") + name_of(kind);
}

}  // namespace headroom::profiler
