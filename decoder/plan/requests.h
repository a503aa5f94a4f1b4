#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// One entry of a queue: a decode that runs `count` times.
struct QueuedRequest {
  std::string name;
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t frames = 1;
  int64_t batch = 1;
  int64_t count = 1;
  /// None, one for all repetitions, or one per repetition; relative to the file's folder.
  std::vector<std::string> latents;
  std::string latent_scale;  ///< empty if the file does not set it
  std::string output;        ///< empty if the file names none
  friend bool operator==(const QueuedRequest&, const QueuedRequest&) = default;
};

/// One decode of a planned queue.
struct QueuedDecode {
  int32_t request = 0;
  int32_t repetition = 0;  ///< 0 to the request's count - 1
  int32_t plan = 0;
  friend bool operator==(const QueuedDecode&, const QueuedDecode&) = default;
};

/// Requests that one process decodes one after another. Plain data; docs/formats.md describes the file.
struct RequestQueue {
  std::string model;  ///< the --model argument; empty if the file names none
  std::optional<Dtype> dtype;
  DeviceKind device = DeviceKind::cpu;  ///< one for all
  Tf32 tf32;
  std::vector<QueuedRequest> requests;

  bool planned = false;
  // Only for a planned queue:
  int64_t limit_bytes = 0;          ///< of every plan
  std::vector<QueuedDecode> order;  ///< each repetition of each request once
  std::vector<Plan> plans;          ///< one for each distinct shape
  friend bool operator==(const RequestQueue&, const RequestQueue&) = default;
};

/// Largest number of frames of any request. The whole queue uses one model, for_frames() with this number.
int64_t most_frames(const RequestQueue& queue);

/// Memory and time of several decodes in one process, as their plans predict them.
struct QueuePrediction {
  int64_t pool_bytes = 0;  ///< the largest plan's peak without its reserve. One pool of this size serves all
                           ///< decodes
  int64_t peak_bytes = 0;  ///< the largest plan's peak
  double seconds = 0;      ///< all decodes
};
QueuePrediction predict(const std::vector<const Plan*>& in_order);
QueuePrediction predict(const RequestQueue& queue);

/// Expands a request's path for one repetition. Replaces every `{i}` by the repetition if there are several.
std::string path_for(const std::string& path, const QueuedRequest& request, int64_t repetition);
/// The latent file of one repetition. Empty if the request names none.
std::string latent_for(const QueuedRequest& request, int64_t repetition);

/// `requests[3] ("poster")`, with the repetition if there are several. Always one line, since the name is
/// escaped.
std::string place_of(const RequestQueue& queue, size_t request);
std::string place_of(const RequestQueue& queue, const QueuedDecode& decode);

}  // namespace headroom
