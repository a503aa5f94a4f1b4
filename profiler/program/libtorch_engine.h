#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/progress/progress.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/libtorch/record_eager.h"

namespace headroom::profiler {

/// What --layouts, --tilings and --tile say.
struct LibtorchOptions {
  std::string layouts = "nchw,channels-last", tilings = "whole,tiles";
  int64_t tile = 0;
  friend bool operator==(const LibtorchOptions&, const LibtorchOptions&) = default;
};

/// Throws InputError naming the option.
void read_libtorch_options(const LibtorchOptions& options, EagerRequest& request);

/// With --engine libtorch: records what was asked for, and writes it to `output` and, where that has a name,
/// its layers to `csv`.
EagerRecording record_libtorch(const Model& model, const EagerRequest& request,
                               const ParameterSource& weights, const std::string& output,
                               const std::string& csv, Progress& progress);

/// A line for each decode.
void print_recording(const EagerRecording& recording, const std::string& output, std::ostream& out);

}  // namespace headroom::profiler
