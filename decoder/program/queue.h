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

/// A planned queue, with the options for decoding it.
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

/// Decodes the whole queue in order, from one pool. Before the first decode it checks all that it can. A
/// failing decode ends the run with an error that names the request. Earlier outputs stay. Throws InputError,
/// LimitExceeded, DeviceError.
RunStats decode_queue(QueueRun run, Notes& progress);

}  // namespace headroom
