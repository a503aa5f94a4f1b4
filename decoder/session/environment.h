#pragma once

#include <string>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Starts the threads and runs one convolution by each algorithm, so that one-time allocations happen before
/// anything is measured. Idempotent. `threads` of 0 leaves the default.
void start_threads(int threads);
/// Like start_threads(), for a program that has the process to itself: all threads share one heap. With
/// `threads` of 0 and no OMP_NUM_THREADS it starts useful_threads().
void start_libraries(int threads);

/// The software that times and workspaces depend on, e.g. "Headroom 0.1.0 for avx512".
std::string library_versions();
/// The processor's name and the threads in use.
std::string device_name();

/// The environment of costs measured now, on this GPU or, if `gpu` is null, on the CPU. Call
/// start_libraries() first.
Environment environment_here(const gpu::Gpu* gpu);

/// Throws InputError if the plan's costs were measured in another environment than `here`: they do not
/// predict times and workspaces here. Assumed costs pass. The message names both environments in full.
/// `origin` is the plan's file.
void check_environment(const Plan& plan, const Environment& here, const std::string& origin);

}  // namespace headroom
