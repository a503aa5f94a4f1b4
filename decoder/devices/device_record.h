#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/devices/convolution_algorithm.h"

namespace headroom {

/// The kind of device that a plan is for.
enum class DeviceKind {
  cpu,    ///< the process's own memory
  cuda,   ///< a GPU's
  torch,  ///< any device of PyTorch's, by PyTorch's own operations, inside a Python process
};

inline constexpr std::array kDeviceKinds{DeviceKind::cpu, DeviceKind::cuda, DeviceKind::torch};

/// The memory that stores a kept tensor. For a tensor in host memory or in the scratch file, the device has
/// only the blocks that a sweep is about to read or has just written.
enum class MemoryTier {
  device,
  host,     ///< host memory, on devices with memory of their own
  scratch,  ///< a file
};
const char* name_of(MemoryTier tier);

/// The connection that carries messages between two ranks.
struct Link {
  double bytes_per_second = 0;
  double seconds = 0;  ///< latency: time until the first byte arrives
  friend bool operator==(const Link&, const Link&) = default;
};

/// The facts that plans, costs and programs need of a kind of device. They ask for a fact and do not name the
/// kind. The code that decodes on the device is in decoder/cpu and decoder/gpu.
struct DeviceRecord {
  DeviceKind kind;
  const char* name;   ///< in plans and options
  const char* title;  ///< in windows
  /// Its memory is the process's own. Any other device has host memory beside its own.
  bool is_host;
  bool is_numbered;  ///< a machine may have several: cuda:1
  bool has_tf32;     ///< convolutions and matrix products in fp32 may run in TF32
  /// Convolutions of pictures write kept tensors, and in 16 bits add residuals.
  bool fuses_pictures;
  /// Each allocation has a place in one reserved block. A plan counts the gaps between them.
  bool places_allocations;
  /// Most bytes that operations allocate themselves, outside the reservation, beside a copy of the largest
  /// kernel. Such operations get no workspace. 0: operations get a workspace and allocate nothing.
  int64_t temporary_bytes;
  bool in_programs;        ///< programs can decode on it, not only the Python package
  MemoryTier second_tier;  ///< stores kept tensors that the device's memory has no room for
  /// The direct algorithm first, then a faster one if the device has any.
  std::vector<ConvolutionAlgorithm> algorithms;
  // The most tiles of a pass, and of each of its chunks of frames. Each tile makes its own allocations and
  // launches, and the planner simulates them.
  int64_t most_tiles, most_tiles_of_chunk;
  Link link;                  ///< assumed between ranks
  const char* assumed_costs;  ///< the device of the costs that are assumed without a profile; may be empty
};

const DeviceRecord& device_record(DeviceKind kind);
/// One for each kind, in the order of kDeviceKinds.
const std::vector<DeviceRecord>& all_devices();

const char* name_of(DeviceKind kind);
/// " on cuda", for a sentence. Empty for the host.
std::string on_text(DeviceKind kind);
/// The kind of this name. Null for any other text.
const DeviceRecord* find_device(const std::string& name);
/// The names that programs accept, for a message: "cpu or cuda".
std::string device_names();
/// Throws InputError unless `text` is the name of a kind.
DeviceKind parse_device(const std::string& text);

}  // namespace headroom
