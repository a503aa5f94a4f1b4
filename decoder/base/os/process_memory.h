#pragma once

#include <cstdint>

namespace headroom {

/// Memory of this process (/proc/self/status) and of the machine (/proc/meminfo), in bytes. Negative if the
/// system has no such value. All functions here throw DeviceError if the system fails to answer.
int64_t resident_bytes();       ///< VmRSS
int64_t peak_resident_bytes();  ///< VmHWM
/// Resets VmHWM to the current VmRSS. Returns false if the system does not allow it.
bool reset_peak_resident();
int64_t machine_total_bytes();  ///< MemTotal
/// MemAvailable: memory that the machine can provide without swapping.
int64_t machine_available_bytes();
/// Memory of the machine, also where /proc is not mounted.
int64_t physical_bytes();

/// Returns the heap's free pages to the system. The C library would keep them.
void return_free_heap();
/// Lets all threads use one heap, so that memory which one thread frees is reused by others.
void use_one_heap();

}  // namespace headroom
