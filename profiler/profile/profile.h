#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// One layer at one size.
struct LayerMeasurement {
  int64_t activation_bytes = 0;  ///< bytes of its output
  int64_t live_bytes = 0;        ///< peak live bytes on the device while it ran
  int64_t workspace_bytes = 0;   ///< allocated by libraries beside inputs and output
  double seconds = 0;
  double flops = 0;
  friend bool operator==(const LayerMeasurement&, const LayerMeasurement&) = default;
};

/// One operation of the decoder or encoder at every profiled size.
struct LayerProfile {
  std::string name;
  std::string kind;
  std::vector<LayerMeasurement> sizes;  ///< parallel to Profile::sizes
  std::string latency_table{};          ///< name of its table in Profile::latency_tables
  friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

struct LiveTensor {
  std::string name;
  int64_t bytes = 0;
  friend bool operator==(const LiveTensor&, const LiveTensor&) = default;
};

/// One profiled decode or encode.
struct ProfiledSize {
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t frames = 1;
  int64_t batch = 1;
  int64_t peak_bytes = 0;
  double seconds = 0;
  std::string peak_layer;             ///< the layer that ran at the peak
  std::vector<LiveTensor> peak_live;  ///< live tensors at the peak, largest first
  friend bool operator==(const ProfiledSize&, const ProfiledSize&) = default;
};

/// How well the latency tables of a profile were measured.
struct MeasuredPrecision {
  double target = 0;         ///< target relative standard error of each point
  int64_t points = 0;        ///< measured
  int64_t noisy_points = 0;  ///< points that missed the target
  double waited_share = 0;   ///< share of time spent waiting for processors that other programs held
  /// Measured over predicted seconds of the last profiled size, before calibration; 1 on a GPU. Tables time
  /// calls back to back. Calls inside a decode find other cache contents, so the CPU's tables are calibrated.
  double decode_ratio = 1;
  friend bool operator==(const MeasuredPrecision&, const MeasuredPrecision&) = default;
};

/// Costs of a decoder's or encoder's layers on one machine, measured layer by layer.
struct Profile {
  std::string model;
  Direction direction = Direction::decode;
  Dtype dtype = Dtype::fp32;
  Tf32 tf32;
  DeviceKind device_kind = DeviceKind::cpu;
  std::string device;     ///< name; also the number of threads, or the driver
  std::string libraries;  ///< with versions, because costs change between releases
  int64_t weights_bytes = 0;
  int threads = 0;
  int64_t outside_bytes = 0;  ///< largest growth of memory outside the pool
  /// Rate of loading parameters from `weights_source` into the pool, or from host memory onto a GPU. 0 if not
  /// measured.
  double weights_bytes_per_second = 0;
  double transform_bytes_per_second = 0;  ///< packing Winograd kernels, in packed bytes; 0: not measured
  std::string weights_source{};           ///< "files" or "random"
  double to_host_bytes_per_second = 0;    ///< GPU to pinned memory; 0: not measured
  double from_host_bytes_per_second = 0;
  std::string scratch_folder{};  ///< folder of the two rates below; empty if not measured
  double scratch_write_bytes_per_second = 0;
  double scratch_read_bytes_per_second = 0;
  std::vector<ProfiledSize> sizes;
  std::vector<LayerProfile> layers;
  std::vector<LatencyTable> latency_tables;
  std::vector<EngineChoice> engines{};  ///< only on a GPU: convolutions whose engines were timed
  MeasuredPrecision precision{};
  friend bool operator==(const Profile&, const Profile&) = default;

  /// Null if no latency table has this name.
  const LatencyTable* find_latency_table(const std::string& latency_table) const {
    for (const LatencyTable& entry : latency_tables) {
      if (entry.name == latency_table) return &entry;
    }
    return nullptr;
  }
};

}  // namespace headroom::profiler
