#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/devices/device_name.h"
#include "decoder/files/frame_rate.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/require_apart.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/weights/parameter_source.h"
#include "planner/decode_program/notes.h"

namespace headroom {

/// A planned queue, with the options for decoding it.
struct QueueRun {
  Model model;  ///< for any number of frames
  ParameterSource weights;
  std::string queue_file;
  std::string output_folder;  ///< folder of all outputs; empty: the queue file's folder
  /// One per decode whose request names none, in order of requests and repetitions.
  std::vector<std::string> latents;
  std::string latent_scale;                         ///< --latent-scale, for requests that do not set it
  int threads = 0;                                  ///< 0: LibTorch's choice
  FrameRate frame_rate;                             ///< for .y4m outputs
  int quality = kDefaultQuality;                    ///< for lossy outputs
  std::optional<DeviceName> device;                 ///< if set, all plans must be for its kind
  bool other_environment = false;                   ///< accept costs measured in another environment
  std::vector<NamedFile> files_read, files_beside;  ///< other files of the command line, for require_apart()
};

/// Decodes the whole queue in order, with one memory pool. It validates everything it can before the first
/// decode. If a decode fails, the run ends with an error naming the request; earlier outputs stay. Throws
/// InputError, LimitExceeded, DeviceError.
RunStats decode_queue(QueueRun run, Notes& progress);

}  // namespace headroom
