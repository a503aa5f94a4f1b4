#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/files/picture_sink.h"
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

/// Opens the output of the command line, and with --preview a small copy of it. Throws like require_apart()
/// and open_sink().
std::unique_ptr<PictureSink> open_output(const DecodeOptions& options, const PictureShape& shape);

/// Prints a line with the output's name, time and peak. A second line follows if the run was
/// verified.
void print_summary(const RunStats& stats, const std::string& output, std::ostream& out);

}  // namespace headroom
