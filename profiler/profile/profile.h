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
  int64_t activation_bytes = 0;  ///< its output
  int64_t live_bytes = 0;        ///< all device bytes live at its highest moment
  int64_t workspace_bytes = 0;   ///< taken by libraries beside inputs and output
  double seconds = 0;
  double flops = 0;
  friend bool operator==(const LayerMeasurement&, const LayerMeasurement&) = default;
};

/// One operation of the decoder at every profiled size.
struct LayerProfile {
  std::string name;
  std::string kind;
  std::vector<LayerMeasurement> sizes;  ///< parallel to Profile::sizes
  std::string latency_table{};          ///< name of the entry of Profile::latency_tables that it follows
  friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

struct LiveTensor {
  std::string name;
  int64_t bytes = 0;
  friend bool operator==(const LiveTensor&, const LiveTensor&) = default;
};

/// One profiled decode.
struct ProfiledSize {
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t frames = 1;
  int64_t batch = 1;
  int64_t peak_bytes = 0;
  double seconds = 0;
  std::string peak_layer;             ///< the layer that ran at the peak
  std::vector<LiveTensor> peak_live;  ///< what was live then, largest first
  friend bool operator==(const ProfiledSize&, const ProfiledSize&) = default;
};

/// How well the latency tables of a profile were measured.
struct MeasuredPrecision {
  double target = 0;         ///< relative standard error that each point was measured to
  int64_t points = 0;        ///< measured
  int64_t noisy_points = 0;  ///< that did not reach it
  double clock_drift = 0;    ///< average distance of the device's speed from its usual one, relative
  double waited_share = 0;   ///< of its time that the process waited for processors that others had
  /// Seconds of the untiled decode of the last size over what calls in a row told of it. The tables were made
  /// to meet decodes, table by table: calls in a decode find other caches.
  double decode_ratio = 1;
  friend bool operator==(const MeasuredPrecision&, const MeasuredPrecision&) = default;
};

/// Costs of a decoder's layers on one machine, measured layer by layer.
struct Profile {
  std::string model;
  Dtype dtype = Dtype::fp32;
  DeviceKind device_kind = DeviceKind::cpu;
  std::string device;     ///< with the number of threads, or the card and its driver
  std::string libraries;  ///< with versions: the same layer costs otherwise in another release
  int64_t weights_bytes = 0;
  int threads = 0;
  int64_t outside_bytes = 0;  ///< largest growth outside the pool
  /// Rate of loading parameters into the pool from `weights_source`, or onto a GPU from host memory. 0 if not
  /// measured.
  double weights_bytes_per_second = 0;
  double transform_bytes_per_second = 0;  ///< packing kernels for Winograd, bytes packed; 0 if not measured
  std::string weights_source{};           ///< "files" or "random"
  double to_host_bytes_per_second = 0;  ///< of copies between a GPU and pinned host memory; 0 if not measured
  double from_host_bytes_per_second = 0;
  std::string scratch_folder{};  ///< where the two rates were measured; empty if they were not
  double scratch_write_bytes_per_second = 0;
  double scratch_read_bytes_per_second = 0;
  std::vector<ProfiledSize> sizes;
  std::vector<LayerProfile> layers;
  std::vector<LatencyTable> latency_tables;
  MeasuredPrecision precision{};
  friend bool operator==(const Profile&, const Profile&) = default;

  /// Null where there is no latency table of this name.
  const LatencyTable* find_latency_table(const std::string& latency_table) const {
    for (const LatencyTable& entry : latency_tables) {
      if (entry.name == latency_table) return &entry;
    }
    return nullptr;
  }
};

}  // namespace headroom::profiler
