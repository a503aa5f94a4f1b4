#include "profiler/program/libtorch_engine.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <vector>

#include "decoder/files/npy.h"
#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/short_name.h"
#include "decoder/graph/text_streams.h"
#include "decoder/outputs/printable.h"
#include "decoder/outputs/whole_file.h"
#include "decoder/session/libraries.h"
#include "profiler/eager/recording_file.h"

namespace headroom::profiler {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  TextReader list(text);
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

std::string variant_text(const RecordedEagerDecode& decode) {
  std::string text = std::to_string(decode.width_pixels) + "x" + std::to_string(decode.height_pixels) + " " +
                     name_of(decode.layout);
  if (decode.tile > 0)
    text += " in " + std::to_string(decode.tile_count) + " tiles of " + std::to_string(decode.tile);
  return text;
}

}  // namespace

void read_libtorch_options(const LibtorchOptions& options, EagerRequest& request) {
  request.layouts.clear();
  for (const std::string& word : words_of(options.layouts)) {
    const EagerLayout layout = parse_layout(word, "--layouts");
    if (std::find(request.layouts.begin(), request.layouts.end(), layout) == request.layouts.end())
      request.layouts.push_back(layout);
  }
  if (request.layouts.empty()) throw InputError("--layouts: expected nchw, channels-last or both");
  request.whole = request.in_tiles = false;
  for (const std::string& word : words_of(options.tilings)) {
    if (word != "whole" && word != "tiles")
      throw InputError("--tilings: expected whole or tiles, found '" + word + "'");
    (word == "whole" ? request.whole : request.in_tiles) = true;
  }
  if (!request.whole && !request.in_tiles) throw InputError("--tilings: expected whole, tiles or both");
  if (options.tile % 4 != 0)
    throw InputError("--tile: expected a multiple of 4, of which tiles overlap by a quarter, found " +
                     std::to_string(options.tile));
  request.tile = options.tile;
}

EagerRecording record_libtorch(const Model& model, const EagerRequest& request,
                               const ParameterSource& weights, const RecordingFiles& files,
                               Progress& progress) {
  RunBegun news;
  news.program = "headroom-profile";
  news.model = request.model;
  news.output = files.output;
  news.batch = request.batch;
  progress.tell(news);
  const auto write_picture = [&](const RecordedEagerDecode&, const Array& picture) {
    write_npy(files.picture, picture);
  };
  EagerRecording recording = record_eager(
      model, request, weights,
      [&](double share, const std::string& what) {
        progress.tell(WorkDone{std::clamp(share, 0.0, 1.0), what});
      },
      files.picture.empty() ? EagerPictures() : write_picture);
  recording.device = request.device == DeviceKind::cpu ? device_name() : "LibTorch's first GPU";
  write_file_whole(files.output, to_json(recording).dump(1) + "\n");
  if (!files.csv.empty()) write_file_whole(files.csv, layers_csv(recording));
  return recording;
}

void print_recording(const EagerRecording& recording, const std::string& output, std::ostream& out) {
  for (const RecordedEagerDecode& decode : recording.decodes) {
    out << variant_text(decode) << ": " << format_seconds(decode.seconds) << ", peak "
        << format_bytes(decode.peak_bytes) << " at " << short_name(decode.peak_layer);
    if (decode.counted_peak_bytes > 0) {
      out << ", counted " << format_bytes(decode.counted_peak_bytes) << " (" << std::showpos << std::fixed
          << std::setprecision(2) << 100 * (double(decode.counted_peak_bytes) / double(decode.peak_bytes) - 1)
          << std::noshowpos << std::defaultfloat << " %)";
    }
    out << "; live then:";
    for (size_t i = 0; i < std::min<size_t>(decode.peak_live.size(), 4); ++i) {
      out << (i > 0 ? ", " : " ") << short_name(decode.peak_live[i].name) << " "
          << format_bytes(decode.peak_live[i].bytes);
    }
    out << "\n";
  }
  out << one_line(output) << ": " << one_line(recording.model) << " in " << name_of(recording.dtype) << " by "
      << recording.libraries << ", decodes: " << recording.decodes.size() << "\n";
}

}  // namespace headroom::profiler
