#include "decoder/base/progress/progress_lines.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kLongestLine = 64 * 1024;
constexpr int64_t kMost = int64_t{1} << 60;

// Writing of progress lines.

double rounded(double value, double parts) {
  return std::round(value * parts) / parts;
}

json to_json(const Interval& interval) {
  return {interval.begin, interval.end};
}

/// Omits values that do not apply.
template <typename T>
void put(json& line, const char* key, const T& value) {
  if (value != T{}) line[key] = value;
}

json as_json(const std::monostate&) {
  return json::object({{"event", "nothing"}});
}

json as_json(const RunBegun& begun) {
  json line{{"event", "begin"}, {"version", kProgressVersion}, {"program", begun.program}};
  put(line, "model", begun.model);
  put(line, "output", begun.output);
  put(line, "preview", begun.preview);
  if (begun.limit_bytes != std::numeric_limits<int64_t>::max()) put(line, "limit_bytes", begun.limit_bytes);
  put(line, "predicted_peak_bytes", begun.predicted_peak_bytes);
  put(line, "predicted_seconds", begun.predicted_seconds);
  put(line, "width_pixels", begun.width_pixels);
  put(line, "height_pixels", begun.height_pixels);
  put(line, "batch", begun.batch);
  put(line, "passes", begun.passes);
  put(line, "decodes", begun.decodes);
  return line;
}

json as_json(const WorkDone& work) {
  json line{{"event", "work"}, {"share", rounded(work.share, 1e4)}, {"what", work.what}};
  put(line, "seconds_left", rounded(work.seconds_left, 10));
  return line;
}

json as_json(const WeightsLoaded& weights) {
  return {{"event", "weights"}, {"share", rounded(weights.share, 1e4)}};
}

json as_json(const DecodeStarted& started) {
  return {{"event", "decode"}, {"decode", started.decode}, {"of", started.of}, {"name", started.name}};
}

json as_json(const VerificationStarted& started) {
  return {{"event", "verify"}, {"compared_with", started.compared_with}};
}

json as_json(const PassStarted& started) {
  return {{"event", "pass"},
          {"item", started.item},
          {"pass", started.pass},
          {"of", started.of},
          {"name", started.name}};
}

json as_json(const TileDone& done) {
  json line{{"event", "tile"},   {"item", done.item}, {"pass", done.pass},
            {"tile", done.tile}, {"of", done.of},     {"share", rounded(done.share, 1e4)}};
  if (done.region)
    line["region"] = {{"rows", to_json(done.region->rows)}, {"columns", to_json(done.region->columns)}};
  return line;
}

json as_json(const StepsDone& done) {
  json line{{"event", "steps"},
            {"item", done.item},
            {"pass", done.pass},
            {"tile", done.tile},
            {"steps", done.steps},
            {"of", done.of},
            {"share", rounded(done.share, 1e4)}};
  put(line, "step_share", rounded(done.of_step, 1e4));
  return line;
}

json as_json(const MemorySample& sample) {
  return {{"event", "memory"},
          {"live_bytes", sample.live_bytes},
          {"peak_bytes", sample.peak_bytes},
          {"outside_bytes", sample.outside_bytes}};
}

json as_json(const RunEnded& ended) {
  json line{{"event", "end"}, {"exit_code", ended.exit_code}};
  put(line, "peak_bytes", ended.peak_bytes);
  put(line, "decode_seconds", rounded(ended.decode_seconds, 1e3));
  return line;
}

// Parsing of progress lines.

int64_t count(const JsonFields& line, const char* key) {
  return line[key].integer(0, kMost);
}

int64_t count_or_none(const JsonFields& line, const char* key) {
  return line.has(key) ? count(line, key) : 0;
}

std::string text_or_none(const JsonFields& line, const char* key) {
  return line.has(key) ? line[key].text() : std::string();
}

double seconds(const JsonFields& field) {
  const double value = field.number();
  if (value < 0) field.fail("expected a number of at least 0, found " + field.value().dump());
  return value;
}

double seconds_or_none(const JsonFields& line, const char* key) {
  return line.has(key) ? seconds(line[key]) : 0;
}

double share(const JsonFields& line, const char* key = "share") {
  const JsonFields field = line[key];
  const double value = field.number();
  if (value < 0 || value > 1) field.fail("expected a number from 0 to 1, found " + field.value().dump());
  return value;
}

Interval read_interval(const JsonFields& field) {
  const int64_t begin = field[size_t{0}].integer(0, kMost);
  return {begin, field[1].integer(begin, kMost)};
}

RunBegun read_begun(const JsonFields& line) {
  return {line["program"].text(),
          text_or_none(line, "model"),
          text_or_none(line, "output"),
          text_or_none(line, "preview"),
          count_or_none(line, "limit_bytes"),
          count_or_none(line, "predicted_peak_bytes"),
          seconds_or_none(line, "predicted_seconds"),
          count_or_none(line, "width_pixels"),
          count_or_none(line, "height_pixels"),
          count_or_none(line, "batch"),
          count_or_none(line, "passes"),
          count_or_none(line, "decodes")};
}

TileDone read_tile(const JsonFields& line) {
  TileDone done{count(line, "item"), count(line, "pass"), count(line, "tile"), count(line, "of"),
                share(line)};
  if (line.has("region")) {
    const JsonFields region = line["region"];
    done.region = {read_interval(region["rows"]), read_interval(region["columns"])};
  }
  return done;
}

ProgressNews read_news(const JsonFields& line) {
  const std::string event = line["event"].text();
  if (event == "begin") return read_begun(line);
  if (event == "work")
    return WorkDone{share(line), line["what"].text(), seconds_or_none(line, "seconds_left")};
  if (event == "weights") return WeightsLoaded{share(line)};
  if (event == "decode") return DecodeStarted{count(line, "decode"), count(line, "of"), line["name"].text()};
  if (event == "verify") return VerificationStarted{line["compared_with"].text()};
  if (event == "pass")
    return PassStarted{count(line, "item"), count(line, "pass"), count(line, "of"), line["name"].text()};
  if (event == "tile") return read_tile(line);
  if (event == "steps")
    return StepsDone{count(line, "item"),
                     count(line, "pass"),
                     count(line, "tile"),
                     count(line, "steps"),
                     count(line, "of"),
                     share(line),
                     line.has("step_share") ? share(line, "step_share") : 0};
  if (event == "memory")
    return MemorySample{count(line, "live_bytes"), count(line, "peak_bytes"), count(line, "outside_bytes")};
  if (event == "end")
    return RunEnded{static_cast<int>(line["exit_code"].integer(0, 255)), count_or_none(line, "peak_bytes"),
                    seconds_or_none(line, "decode_seconds")};
  return std::monostate{};
}

}  // namespace

PictureRegion around(const PictureRegion& a, const PictureRegion& b) {
  const auto both = [](const Interval& c, const Interval& d) {
    return Interval{std::min(c.begin, d.begin), std::max(c.end, d.end)};
  };
  return {both(a.rows, b.rows), both(a.columns, b.columns)};
}

std::string progress_line(const ProgressEvent& event) {
  json line = std::visit([](const auto& news) { return as_json(news); }, event.news);
  line["seconds"] = rounded(event.seconds, 1e3);
  // Names of files and layers may contain invalid UTF-8.
  return std::string(kProgressPrefix) + line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

ProgressEvent read_progress_line(std::string_view line) {
  if (!line.starts_with(kProgressPrefix)) throw InputError("progress line: its prefix is missing");
  const json document = parse_json(std::string(line.substr(kProgressPrefix.size())), "progress line");
  const JsonFields fields(document, "progress line");
  return {seconds(fields["seconds"]), read_news(fields)};
}

ProgressReader::ProgressReader(std::function<void(const ProgressEvent&)> event,
                               std::function<void(const std::string&)> message)
    : event_(std::move(event)), message_(std::move(message)) {}

void ProgressReader::read(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.find('\n'), bytes.size());
    line_.append(bytes.substr(0, std::min(length, kLongestLine - line_.size())));
    if (length == bytes.size()) return;
    take_line();
    bytes.remove_prefix(length + 1);
  }
}

void ProgressReader::finish() {
  if (!line_.empty()) take_line();
}

void ProgressReader::take_line() {
  const std::string line = std::exchange(line_, {});
  // Libraries may write a message without a newline, so a progress line can follow on the same line.
  const size_t begin = line.find(kProgressPrefix);
  if (begin == std::string::npos) return message_(line);
  ProgressEvent event;
  try {
    event = read_progress_line(std::string_view(line).substr(begin));
  } catch (const InputError&) {
    ++damaged_;
    if (begin > 0) message_(line);
    return;
  }
  if (begin > 0) message_(line.substr(0, begin));
  event_(event);
}

}  // namespace headroom
