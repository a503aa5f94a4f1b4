#include "decoder/devices/device_record.h"

#include <limits>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

}  // namespace

const std::vector<DeviceRecord>& all_devices() {
  static const std::vector<DeviceRecord> devices{
      {
          .kind = DeviceKind::cpu,
          .name = "cpu",
          .title = "CPU",
          .is_host = true,
          .is_numbered = false,
          .has_tf32 = false,
          .fuses_pictures = false,
          .places_allocations = false,
          .temporary_bytes = 0,
          .in_programs = true,
          .second_tier = MemoryTier::scratch,
          .algorithms = {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd},
          .most_tiles = kAnyNumber,
          .most_tiles_of_chunk = kAnyNumber,
          .link = {1.25e9, 1e-4},  // 10 Gbit/s Ethernet
          .assumed_costs = "",
      },
      {
          .kind = DeviceKind::cuda,
          .name = "cuda",
          .title = "NVIDIA GPU",
          .is_host = false,
          .is_numbered = true,
          .has_tf32 = true,
          .fuses_pictures = true,
          .places_allocations = true,
          .temporary_bytes = 0,
          .in_programs = true,
          .second_tier = MemoryTier::host,
          .algorithms = {ConvolutionAlgorithm::direct},
          .most_tiles = 16384,
          .most_tiles_of_chunk = 2048,
          .link = {20e9, 2e-5},  // PCIe 4 without NVLink
          .assumed_costs = "an H100",
      },
      {
          .kind = DeviceKind::torch,
          .name = "torch",
          .title = "PyTorch",
          .is_host = false,
          .is_numbered = false,
          .has_tf32 = false,
          .fuses_pictures = true,
          .places_allocations = true,
          .temporary_bytes = int64_t{48} << 20,
          .in_programs = false,
          .second_tier = MemoryTier::host,
          .algorithms = {ConvolutionAlgorithm::direct},
          .most_tiles = 4096,
          .most_tiles_of_chunk = 1024,
          .link = {1.25e9, 1e-4},  // decodes over several ranks are refused
          .assumed_costs = "a T4",
      },
  };
  return devices;
}

const DeviceRecord& device_record(DeviceKind kind) {
  return all_devices().at(static_cast<size_t>(kind));
}

const char* name_of(DeviceKind kind) {
  return device_record(kind).name;
}

std::string on_text(DeviceKind kind) {
  const DeviceRecord& device = device_record(kind);
  return device.is_host ? "" : std::string(" on ") + device.name;
}

const DeviceRecord* find_device(const std::string& name) {
  for (const DeviceRecord& device : all_devices()) {
    if (name == device.name) return &device;
  }
  return nullptr;
}

std::string device_names() {
  std::string names;
  for (const DeviceRecord& device : all_devices()) {
    if (device.in_programs) names += (names.empty() ? "" : " or ") + std::string(device.name);
  }
  return names;
}

DeviceKind parse_device(const std::string& text) {
  if (const DeviceRecord* device = find_device(text)) return device->kind;
  throw InputError("--device: expected " + device_names() + ", found '" + text + "'");
}

const char* name_of(MemoryTier tier) {
  switch (tier) {
    case MemoryTier::device:
      return "device";
    case MemoryTier::host:
      return "host";
    case MemoryTier::scratch:
      return "scratch";
  }
  return "?";
}

const char* name_of(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::direct ? "direct" : "winograd";
}

}  // namespace headroom
