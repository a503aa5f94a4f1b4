#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/files/preview_sink.h"
#include "decoder/outputs/require_apart.h"
#include "decoder/program/options.h"

namespace headroom {

/// Lists what a decode writes beside its output, and what it reads, for require_apart().
std::vector<NamedFile> files_beside(const DecodeOptions& options);
std::vector<NamedFile> files_read(const DecodeOptions& options);

/// An output as its files: one for each item in formats that have one picture or clip in a file.
std::vector<NamedFile> files_of_output(const std::string& option, const std::string& output,
                                       const PictureShape& shape);

/// The output of the command line, and with --preview a small copy of it.
struct Outputs {
  std::unique_ptr<PictureSink> output;
  std::optional<PreviewSink> preview;

  /// Throws as require_apart() and open_sink() do.
  Outputs(const DecodeOptions& options, const PictureShape& shape);
  PictureSink& first() { return preview ? static_cast<PictureSink&>(*preview) : *output; }
};

}  // namespace headroom
