#pragma once

#include <cstdint>

namespace headroom {

/// What the operating system says of this process, from /proc/self/status; below 0 where there is none. All
/// of these throw DeviceError where the system fails to say.
int64_t resident_bytes();       ///< VmRSS
int64_t peak_resident_bytes();  ///< VmHWM
/// Starts VmHWM afresh from the present VmRSS. False where the system does not allow it.
bool reset_peak_resident();
int64_t machine_total_bytes();  ///< MemTotal
/// Memory that the machine could give without swapping: MemAvailable.
int64_t machine_available_bytes();

}  // namespace headroom
