#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "decoder/graph/axes.h"

namespace headroom {

/// The prefix of progress lines, which distinguishes them from messages on the same stream.
constexpr std::string_view kProgressPrefix = "headroom-progress ";
constexpr int64_t kProgressVersion = 1;

// News of a running program. Numbers that are 0 and texts that are empty do not apply.

/// The first of a run, once it is known what is done.
struct RunBegun {
  std::string program;  ///< "headroom-decode"
  std::string model{};
  std::string output{};
  std::string preview{};    ///< the file of --preview
  int64_t limit_bytes = 0;  ///< INT64_MAX, as plans say it, is no limit either
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t batch = 0;
  int64_t passes = 0;
  int64_t decodes = 0;  ///< of a queue
  friend bool operator==(const RunBegun&, const RunBegun&) = default;
};

/// Work that is no decode: planning, measuring.
struct WorkDone {
  double share = 0;  ///< of the whole run, 0 to 1
  std::string what;
  double seconds_left = 0;  ///< about so long; 0 where nobody knows
  friend bool operator==(const WorkDone&, const WorkDone&) = default;
};

/// Weights that stay throughout are being brought in.
struct WeightsLoaded {
  double share = 0;  ///< of the weights, 0 to 1
  friend bool operator==(const WeightsLoaded&, const WeightsLoaded&) = default;
};

/// The next decode of a queue.
struct DecodeStarted {
  int64_t decode = 0;  ///< from 0
  int64_t of = 0;
  std::string name;
  friend bool operator==(const DecodeStarted&, const DecodeStarted&) = default;
};

/// From here on passes and tiles are those of --verify's second decode.
struct VerificationStarted {
  std::string compared_with;
  friend bool operator==(const VerificationStarted&, const VerificationStarted&) = default;
};

struct PassStarted {
  int64_t item = 0;  ///< the first of the batch items that go through the passes together
  int64_t pass = 0;  ///< from 0
  int64_t of = 0;
  std::string name;
  friend bool operator==(const PassStarted&, const PassStarted&) = default;
};

/// Part of one frame of the picture, in pixels.
struct PictureRegion {
  Interval rows;
  Interval columns;
  friend bool operator==(const PictureRegion&, const PictureRegion&) = default;
};

/// The smallest region that holds both.
PictureRegion around(const PictureRegion& a, const PictureRegion& b);

struct TileDone {
  int64_t item = 0;  ///< as of its pass
  int64_t pass = 0;
  int64_t tile = 0;  ///< from 0
  int64_t of = 0;
  double share = 0;  ///< of the whole decode or queue, 0 to 1, by predicted time where there is a prediction
  /// Bounding box of the pixels written since the previous line. If several tiles share a line, parts of the
  /// box may not be written yet.
  std::optional<PictureRegion> region{};
  friend bool operator==(const TileDone&, const TileDone&) = default;
};

/// How far the tile is that runs, now and then while it takes long.
struct StepsDone {
  int64_t item = 0;  ///< as of its pass
  int64_t pass = 0;
  int64_t tile = 0;
  int64_t steps = 0;  ///< that are done
  int64_t of = 0;
  double share = 0;    ///< as of a tile
  double of_step = 0;  ///< of the step after those: how much is done of it, 0 to 1
  friend bool operator==(const StepsDone&, const StepsDone&) = default;
};

/// Device memory now.
struct MemorySample {
  int64_t live_bytes = 0;     ///< of the pool
  int64_t peak_bytes = 0;     ///< the same at its highest since the line before
  int64_t outside_bytes = 0;  ///< growth of the process outside the pool
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

/// The last of a run.
struct RunEnded {
  int exit_code = 0;
  int64_t peak_bytes = 0;     ///< measured, pool and growth outside; only of decodes that were completed
  double decode_seconds = 0;  ///< likewise
  friend bool operator==(const RunEnded&, const RunEnded&) = default;
};

/// Nothing: an event of a later release.
using ProgressNews =
    std::variant<std::monostate, RunBegun, WorkDone, WeightsLoaded, DecodeStarted, VerificationStarted,
                 PassStarted, TileDone, StepsDone, MemorySample, RunEnded>;

struct ProgressEvent {
  double seconds = 0;  ///< since the program began
  ProgressNews news;
  friend bool operator==(const ProgressEvent&, const ProgressEvent&) = default;
};

/// The event as one line with its end, as docs/formats.md describes. Seconds are rounded to a thousandth,
/// shares to a ten-thousandth.
std::string progress_line(const ProgressEvent& event);

/// The event of a line that begins with the prefix; every number is checked against its range. Throws
/// InputError naming the key.
ProgressEvent read_progress_line(std::string_view line);

/// Takes apart what a program writes on standard error, in whatever pieces it comes. Of a line longer than 64
/// KiB the rest is dropped.
class ProgressReader {
 public:
  /// `event` gets every progress line, `message` every other line, without its end.
  ProgressReader(std::function<void(const ProgressEvent&)> event,
                 std::function<void(const std::string&)> message);

  void read(std::string_view bytes);
  /// The stream has ended: what is left is a line.
  void finish();
  /// Progress lines that could not be read; they are dropped.
  int64_t damaged() const { return damaged_; }

 private:
  void take_line();

  std::function<void(const ProgressEvent&)> event_;
  std::function<void(const std::string&)> message_;
  std::string line_;
  int64_t damaged_ = 0;
};

}  // namespace headroom
