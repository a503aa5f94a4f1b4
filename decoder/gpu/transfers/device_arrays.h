#pragma once

#include <cstdint>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/gpu/calls/calls.h"
#include "decoder/interpreter/device.h"

namespace headroom {

/// One item of a batch, N×C×T×H×W or N×C×H×W.
gpu::Planes planes_of(const DeviceArray& array, int64_t item);

/// Bytes from the first value to behind the last, in the array's layout.
int64_t stretch_bytes(const DeviceArray& array);

/// Copies all values to the host, in C order.
std::vector<float> values_of(const DeviceArray& array, HostCopies& copies);

}  // namespace headroom
