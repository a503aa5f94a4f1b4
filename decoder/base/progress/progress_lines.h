#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "decoder/base/axes.h"

namespace headroom {

/// The prefix of progress lines, which distinguishes them from messages on the same stream.
constexpr std::string_view kProgressPrefix = "headroom-progress ";
constexpr int64_t kProgressVersion = 1;

// Events of a running program. A number of 0 and an empty text mean "not applicable".

/// First event of a run, once the plan is known.
struct RunBegun {
  std::string program;  ///< "headroom-decode"
  std::string model{};
  std::string output{};
  std::string preview{};    ///< file given with --preview
  int64_t limit_bytes = 0;  ///< 0 or INT64_MAX (in plans): no limit
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t batch = 0;
  int64_t passes = 0;
  int64_t decodes = 0;  ///< number of decodes in a queue
  friend bool operator==(const RunBegun&, const RunBegun&) = default;
};

/// Work before or besides a decode: planning, measuring.
struct WorkDone {
  double share = 0;  ///< fraction of the whole run, 0 to 1
  std::string what;
  double seconds_left = 0;  ///< estimate; 0 if unknown
  friend bool operator==(const WorkDone&, const WorkDone&) = default;
};

/// Loading of the weights that stay in memory for the whole run.
struct WeightsLoaded {
  double share = 0;  ///< fraction of the weights, 0 to 1
  friend bool operator==(const WeightsLoaded&, const WeightsLoaded&) = default;
};

/// A decode of a queue begins.
struct DecodeStarted {
  int64_t decode = 0;  ///< from 0
  int64_t of = 0;
  std::string name;
  friend bool operator==(const DecodeStarted&, const DecodeStarted&) = default;
};

/// The second decode of --verify begins. Later passes and tiles belong to it.
struct VerificationStarted {
  std::string compared_with;
  friend bool operator==(const VerificationStarted&, const VerificationStarted&) = default;
};

struct PassStarted {
  int64_t item = 0;  ///< first batch item of the micro-batch
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

/// Bounding box of both regions.
PictureRegion around(const PictureRegion& a, const PictureRegion& b);

struct TileDone {
  int64_t item = 0;  ///< as of its pass
  int64_t pass = 0;
  int64_t tile = 0;  ///< from 0
  int64_t of = 0;
  double share = 0;  ///< fraction of the whole decode or queue; by predicted time if known
  /// Bounding box of the pixels written since the previous line. If several tiles share a line, parts of the
  /// box may not be written yet.
  std::optional<PictureRegion> region{};
  friend bool operator==(const TileDone&, const TileDone&) = default;
};

/// Progress inside a tile, sent from time to time if the tile takes long.
struct StepsDone {
  int64_t item = 0;  ///< as of its pass
  int64_t pass = 0;
  int64_t tile = 0;
  int64_t steps = 0;  ///< completed steps
  int64_t of = 0;
  double share = 0;    ///< see TileDone::share
  double of_step = 0;  ///< completed fraction of the current step, 0 to 1
  friend bool operator==(const StepsDone&, const StepsDone&) = default;
};

/// Current device memory.
struct MemorySample {
  int64_t live_bytes = 0;     ///< bytes in use in the pool
  int64_t peak_bytes = 0;     ///< highest live_bytes since the previous line
  int64_t outside_bytes = 0;  ///< growth of the process outside the pool
  friend bool operator==(const MemorySample&, const MemorySample&) = default;
};

/// Last event of a run.
struct RunEnded {
  int exit_code = 0;
  int64_t peak_bytes = 0;     ///< measured: pool and growth outside; completed decodes only
  double decode_seconds = 0;  ///< completed decodes only
  friend bool operator==(const RunEnded&, const RunEnded&) = default;
};

/// std::monostate stands for an unknown event of a later release.
using ProgressNews =
    std::variant<std::monostate, RunBegun, WorkDone, WeightsLoaded, DecodeStarted, VerificationStarted,
                 PassStarted, TileDone, StepsDone, MemorySample, RunEnded>;

struct ProgressEvent {
  double seconds = 0;  ///< since the start of the program
  ProgressNews news;
  friend bool operator==(const ProgressEvent&, const ProgressEvent&) = default;
};

/// Formats the event as one line with a newline (docs/formats.md). Seconds are rounded to 0.001, shares to
/// 0.0001.
std::string progress_line(const ProgressEvent& event);

/// Parses a line that begins with the prefix. Every number is checked against its range. Throws InputError
/// naming the key.
ProgressEvent read_progress_line(std::string_view line);

/// Splits a program's standard error into progress lines and messages. Input may come in pieces of any size.
/// A line is cut after 64 KiB.
class ProgressReader {
 public:
  /// `event` receives every progress line. `message` receives every other line, without the newline.
  ProgressReader(std::function<void(const ProgressEvent&)> event,
                 std::function<void(const std::string&)> message);

  void read(std::string_view bytes);
  /// Ends the stream. The rest of the input counts as a line.
  void finish();
  /// Number of malformed progress lines. They are dropped.
  int64_t damaged() const { return damaged_; }

 private:
  void take_line();

  std::function<void(const ProgressEvent&)> event_;
  std::function<void(const std::string&)> message_;
  std::string line_;
  int64_t damaged_ = 0;
};

}  // namespace headroom
