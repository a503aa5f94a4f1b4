#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/files/preview_sink.h"
#include "decoder/files/require_apart.h"
#include "decoder/plan/stats.h"
#include "planner/decode_program/options.h"

namespace headroom {

/// Lists what a decode writes beside its output, and what it reads, for require_apart().
std::vector<NamedFile> files_beside(const DecodeOptions& options);
std::vector<NamedFile> files_read(const DecodeOptions& options);

/// Lists the files of an output: one per item for formats with one picture or clip per file.
std::vector<NamedFile> files_of_output(const std::string& option, const std::string& output,
                                       const PictureShape& shape);

/// Prints a line with the output's name, time and peak, and a second one if the run was verified.
void print_summary(const RunStats& stats, const std::string& output, std::ostream& out);

/// The sink of the command line's output, and with --preview a small copy of it.
struct Outputs {
  std::unique_ptr<PictureSink> output;
  std::optional<PreviewSink> preview;

  /// Throws like require_apart() and open_sink().
  Outputs(const DecodeOptions& options, const PictureShape& shape);
  PictureSink& first() { return preview ? static_cast<PictureSink&>(*preview) : *output; }
};

}  // namespace headroom
