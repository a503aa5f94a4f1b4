#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/progress/progress.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/libtorch/record_eager.h"

namespace headroom::profiler {

/// What --layouts, --tilings, --tile and --picture say.
struct LibtorchOptions {
  std::string layouts = "nchw,channels-last", tilings = "whole,tiles";
  std::string picture;  ///< a .npy file for what is decoded
  int64_t tile = 0;
  friend bool operator==(const LibtorchOptions&, const LibtorchOptions&) = default;
};

/// Throws InputError naming the option.
void read_libtorch_options(const LibtorchOptions& options, EagerRequest& request);

/// What is written of a recording, each where it has a name.
struct RecordingFiles {
  std::string output;
  std::string csv;      ///< its layers
  std::string picture;  ///< what was decoded last
};

/// With --engine libtorch: records what was asked for, and writes it.
EagerRecording record_libtorch(const Model& model, const EagerRequest& request,
                               const ParameterSource& weights, const RecordingFiles& files,
                               Progress& progress);

/// A line for each decode.
void print_recording(const EagerRecording& recording, const std::string& output, std::ostream& out);

}  // namespace headroom::profiler
