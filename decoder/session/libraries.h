#pragma once

#include <string>

namespace headroom {

/// Starts the threads and runs one convolution by each algorithm, so that what is allocated once is there
/// before anything is measured. Idempotent. `threads` of 0 leaves the default.
void start_threads(int threads);
/// The same for a program of ours, which has the process to itself: lets all threads share one heap.
void start_libraries(int threads);

/// What decides times and workspaces beside the processor, e.g. "Headroom 0.1.0 for avx512".
std::string library_versions();
/// The processor's name and the threads in use.
std::string device_name();

}  // namespace headroom
