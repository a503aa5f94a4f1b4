#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

/// Which of LibTorch's decodes are recorded: every size in every layout, whole and in tiles.
struct EagerRequest {
  std::string model;                               ///< as it is called in the recording
  std::vector<std::pair<int64_t, int64_t>> sizes;  ///< width and height in pixels
  int64_t frames = 1, batch = 1;
  Dtype dtype = Dtype::fp32;
  DeviceKind device = DeviceKind::cpu;
  /// Clips have the first alone: no pipeline has theirs channels-last.
  std::vector<EagerLayout> layouts{EagerLayout::nchw, EagerLayout::channels_last};
  bool whole = true, in_tiles = true;
  int64_t tile = 0;  ///< latent positions along each side of a tile; 0: as the class has them by default
  int threads = 0;   ///< of LibTorch on the CPU; 0: as many as it takes
  int repeats = 1;   ///< decodes of each, of which the quickest time of each layer counts
  std::optional<Array> latent{};  ///< decoded in place of a random one
};

/// Hears the share that is done and what runs.
using EagerProgress = std::function<void(double, const std::string&)>;
/// What was decoded, N×C×H×W or N×C×T×H×W in fp32.
using EagerPictures = std::function<void(const RecordedEagerDecode&, Array)>;

/// Decodes a latent by LibTorch's operators, and records what its allocator reports. `model` is the one for
/// the request's frames. A picture that is no larger than a tile is recorded whole alone, as it is decoded.
/// Throws InputError for a class whose code is not known here, for tiles of one that has none, for a latent
/// of another shape, and where nothing is left to record; DoesNotFit where a whole decode on the CPU would
/// take more memory than is free; DeviceError where LibTorch fails.
EagerRecording record_eager(const Model& model, const EagerRequest& request, const ParameterSource& source,
                            const EagerProgress& progress, const EagerPictures& pictures = {});

}  // namespace headroom::profiler
