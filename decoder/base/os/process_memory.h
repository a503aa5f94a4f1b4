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

/// Memory that this process could use if nothing else ran: the machine's total, or a control group's limit
/// if lower.
int64_t memory_bytes();

/// Memory that this process can allocate without swapping and without being killed. It is the machine's
/// MemAvailable, or the control group's remainder if lower (control_groups.h). At least 0.
int64_t available_bytes();

/// Limit for `--limit auto`, given the available memory. It subtracts the program's own memory, and a margin
/// of 1/16 (16 to 256 MiB) for other programs.
int64_t automatic_limit_bytes(int64_t available_bytes);

}  // namespace headroom
