#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "profiler/events/device_watcher.h"

namespace headroom::profiler {

/// How many of CUPTI's records are held. Those beyond are counted as lost. The defaults are at most 256 MiB
/// of records that wait to be read and some 350 MiB of events.
struct CuptiBounds {
  size_t buffer_bytes = size_t{4} << 20;
  size_t buffers = 64;
  size_t events = 4'000'000;
};

/// Paths to try for CUPTI: beside the LibTorch of this build, then the loader's own search. Empty if Headroom
/// was built without CUPTI's headers.
std::vector<std::filesystem::path> cupti_libraries();

/// Captures through CUPTI, NVIDIA's library for profilers, with the first of these libraries that can be
/// loaded. To be called before there is a CUDA context: CUPTI does not report memory that was taken earlier,
/// and its own buffers are on the GPU unless it is configured before. One watcher at a time in a process, and
/// one program at a time that uses CUPTI. Never throws: what does not work is among the sources.
std::unique_ptr<DeviceWatcher> watch_with_cupti(
    const std::vector<WatchKind>& kinds,
    const std::vector<std::filesystem::path>& libraries = cupti_libraries(), const CuptiBounds& bounds = {});

}  // namespace headroom::profiler
