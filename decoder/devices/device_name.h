#pragma once

#include <optional>
#include <string>

#include "decoder/devices/device_record.h"

namespace headroom {

/// One device of this machine. A plan has only the kind: the run chooses the card.
struct DeviceName {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;  ///< CUDA's number of the GPU
  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};
std::string text_of(const DeviceName& device);
/// Parses cpu, cuda (the first GPU) or cuda:1. Throws InputError for any other text.
DeviceName parse_device_name(const std::string& text);

/// Throws InputError if --device is given and names another kind than that of a plan in `file`.
void check_device(const std::optional<DeviceName>& device, const std::string& file, DeviceKind planned);

/// True for a GPU. False without a name.
inline bool is_gpu(const std::optional<DeviceName>& device) {
  return device && !device_record(device->kind).is_host;
}

/// CUDA's number of the named GPU. The first GPU without a name.
inline int gpu_index(const std::optional<DeviceName>& device) {
  return device ? device->index : 0;
}

/// Help text of --device, for the device of a run.
constexpr const char* kDeviceNameHelp = "cpu, cuda for the first GPU, or cuda:1 for the second; ";

}  // namespace headroom
