#pragma once

#include <memory>
#include <optional>

#include "decoder/files/picture_sink.h"
#include "decoder/files/preview_sink.h"
#include "decoder/program/options.h"

namespace headroom {

/// The output of the command line, and with --preview a small copy of it.
struct Outputs {
  std::unique_ptr<PictureSink> output;
  std::optional<PreviewSink> preview;

  Outputs(const DecodeOptions& options, const PictureShape& shape)
      : output(open_sink(options.output, shape, options.frame_rate, options.quality)) {
    if (!options.preview_file.empty()) preview.emplace(*output, options.preview_file);
  }
  PictureSink& first() { return preview ? static_cast<PictureSink&>(*preview) : *output; }
};

}  // namespace headroom
