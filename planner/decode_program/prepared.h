#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decoder/cli/prepare_outputs.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/options.h"
#include "planner/run/runner.h"

namespace headroom {

/// A run of a command line, ready to start.
struct Prepared {
  std::unique_ptr<Work> work = std::make_unique<Work>();  ///< a pointer, because its jobs refer to it
  RunOptions options{};
  std::string subject{};               ///< what the summary is about: a file, or "queue.json: 3 decodes"
  std::vector<MadeFolders> folders{};  ///< made for outputs; removed if they stay empty
};

// Each of these checks all that can be checked before the run. They throw InputError, DeviceError.

/// The decode of --limit or --plan (decode_jobs.cpp).
Prepared prepare_decode(const DecodeOptions& options, Notes& notes);
/// The decodes of --queue, over one reservation of memory (queue_jobs.cpp).
Prepared prepare_queue(const DecodeOptions& options, Notes& notes);
/// The encode of --picture, or of all pictures in --pictures that have no latent yet (encode_jobs.cpp).
Prepared prepare_encode(const EncodeOptions& options, Notes& notes);

}  // namespace headroom
