#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/files/frame_rate.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/outputs/require_apart.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/program/notes.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// What the program was asked to do with a planned queue.
struct QueueRun {
  Model model;  ///< for any number of frames
  ParameterSource weights;
  std::string queue_file;
  std::string output_folder;  ///< for all outputs; the queue file's own where empty
  std::vector<std::string>
      latents;               ///< one for each decode whose request names none: by request, then by repetition
  std::string latent_scale;  ///< of --latent-scale, where a request leaves it open; may be empty
  int threads = 0;           ///< 0: LibTorch's choice
  FrameRate frame_rate;      ///< of outputs in .y4m
  int quality = kDefaultQuality;                    ///< of lossy outputs
  std::optional<DeviceKind> device;                 ///< that its plans must be for
  bool other_environment = false;                   ///< its costs may have been measured elsewhere
  std::vector<NamedFile> files_read, files_beside;  ///< of the command line, as require_apart() takes them
};

/// Decodes the whole queue in its order from one pool. Everything that can be checked before the first decode
/// is. A decode that fails ends the run with its own error, which names the request; the outputs before it
/// are there. Throws InputError, LimitExceeded, DeviceError.
RunStats decode_queue(QueueRun run, Notes& progress);

}  // namespace headroom
