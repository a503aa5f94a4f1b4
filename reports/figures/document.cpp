#include "reports/figures/document.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/json_fields.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/files/file_kind.h"
#include "decoder/files/json_text.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/sizes.h"
#include "decoder/plan/stats_file.h"
#include "decoder/trace/trace_file.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "profiler/eager/recording_file.h"
#include "profiler/history/memory_history.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

using nlohmann::json;

constexpr int64_t kMostFileBytes = int64_t{64} << 20;  ///< for kinds whose reader has no limit of its own
constexpr int64_t kMostBytes = int64_t{1} << 60;
constexpr size_t kMostPoints = 100'000;
constexpr const char* kPickle = "pickle";
constexpr size_t kFirstBytes = 4096;
/// The end of messages about other files.
const std::string kOpenedHere =
    "opened here are Headroom's plans, statistics, traces, profiles, recorded decodes and frontiers (.json), "
    "and PyTorch's memory snapshots (.pickle)";

/// Throws InputError if a file cannot hold a JSON object.
void require_json_object(const std::filesystem::path& file) {
  if (is_folder_at(file)) throw InputError(file.string() + ": this is a folder; " + kOpenedHere);
  const std::optional<std::string> start = start_of_file(file, kFirstBytes);
  if (!start) return;
  const size_t first = start->find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos || (*start)[first] != '{')
    throw InputError(file.string() + ": this is no JSON object; " + kOpenedHere);
}

/// Text from a file, on a single line.
std::string quoted(const std::string& text) {
  return json(text.substr(0, 80)).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Finds the top level's "schema" and stops the parser there.
class SchemaFinder final : public json::json_sax_t {
 public:
  std::optional<std::string> schema;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string&) override { return true; }
  bool string(std::string& text) override {
    if (depth_ == 1 && key_ == "schema") schema = text;
    return !schema;
  }
  bool binary(json::binary_t&) override { return true; }
  bool start_object(size_t) override { return change_depth(1); }
  bool start_array(size_t) override { return change_depth(1); }
  bool end_object() override { return change_depth(-1); }
  bool end_array() override { return change_depth(-1); }
  bool key(std::string& key) override {
    if (depth_ == 1) key_ = key;
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool change_depth(int64_t by) {
    depth_ += by;
    return true;
  }

  int64_t depth_ = 0;
  std::string key_;  ///< last key at the top level
};

/// Recognises pickles of protocols 2 to 5 by their first two bytes, and older ones by their suffix. The first
/// byte alone is not enough: one .safetensors file in 256 begins with it.
bool is_pickle(const std::filesystem::path& file) {
  if (!is_file_at(file)) return false;
  const std::string suffix = file.extension().string();
  if (suffix == ".pickle" || suffix == ".pkl") return true;
  const std::string start = start_of_file(file, 2).value_or("");
  if (start.size() < 2 || start[0] != '\x80') return false;
  const int protocol = static_cast<unsigned char>(start[1]);
  return 2 <= protocol && protocol <= 5 && suffix != ".safetensors";
}

/// Throws InputError. For damaged JSON, the error names the position of the damage.
json json_object_of(const std::filesystem::path& file) {
  const std::string text = read_text_file(file, kMostFileBytes);
  check_json(text, file.string());
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    const auto line =
        std::count(text.begin(), text.begin() + std::ptrdiff_t(std::min(error.byte, text.size())), '\n');
    throw InputError(file.string() + ": this seems to be JSON that is damaged or cut off in line " +
                     std::to_string(line + 1) + "; " + kOpenedHere);
  }
}

/// The "schema" of a file. Each kind's reader has its own size limit, and traces have their own parser. So
/// this function looks for the schema only and builds no JSON values before it.
std::string schema_of(const std::filesystem::path& file) {
  if (is_pickle(file)) return kPickle;
  require_json_object(file);
  std::error_code error;
  if (is_file_at(file) &&
      static_cast<int64_t>(std::filesystem::file_size(file, error)) <= kMostTraceFileBytes) {
    SchemaFinder finder;
    json::sax_parse(*open_json_text(file, kMostTraceFileBytes), &finder);
    if (finder.schema) return *finder.schema;
  }
  // The schema was not found. The parser below reports the reason.
  const json document = json_object_of(file);
  if (document.is_object() && !document.contains("schema"))
    throw InputError(file.string() +
                     ": this seems to be JSON of another program: it has no key \"schema\"; " + kOpenedHere);
  return JsonFields(document, file.string())["schema"].text();
}

void add_rank(Document& document, decltype(Document::contents) contents) {
  document.ranks.push_back(
      std::make_shared<const Document>(Document{document.file, std::move(contents), document.ranks.size()}));
}

void read_plan_document(Document& document, const std::string& named) {
  const PlanFile parsed(document.file);
  const Request& request = parsed.request();
  const std::string argument = named.empty() ? find_model(request.model, document.file) : named;
  Model model = model_for(open_model(argument), request);
  Plans plans = parsed.plans(model.graph);
  // Sentences and charts follow the plan's steps and tiles, so these must be valid.
  require_valid(plans, model, document.file.string());
  if (!plans.for_ranks()) {
    document.contents = PlanDocument{std::move(plans.plans.front()), std::move(model), argument};
    return;
  }
  for (Plan& plan : plans.plans) add_rank(document, PlanDocument{std::move(plan), model, argument});
  plans.plans.clear();
  document.contents = std::move(plans);
}

void read_trace_document(Document& document) {
  std::vector<RecordedTrace> traces = read_traces(document.file);
  if (!traces.front().trace.rank) {
    document.contents = std::move(traces.front());
    return;
  }
  for (RecordedTrace& trace : traces) add_rank(document, std::move(trace));
  document.contents = TracesDocument{};
}

WeightResidency read_residency(const JsonFields& fields) {
  const std::string text = fields.text();
  for (WeightResidency residency : {WeightResidency::resident, WeightResidency::per_pass}) {
    if (text == name_of(residency)) return residency;
  }
  fields.fail("expected resident or per_pass, found " + fields.value().dump().substr(0, 40));
}

std::optional<MemoryTier> read_lower_tier(const JsonFields& fields) {
  const std::string text = fields.text();
  if (text == "none") return std::nullopt;
  for (MemoryTier tier : {MemoryTier::host, MemoryTier::scratch}) {
    if (text == name_of(tier)) return tier;
  }
  fields.fail("expected none, host or scratch, found " + fields.value().dump().substr(0, 40));
}

/// Reads a frontier's request, which has the keys of a plan's request.
Request read_frontier_request(const json& document, const std::string& origin) {
  json as_plan{{"schema", "headroom.plan"}, {"version", kPlanVersion}};
  if (document.contains("request")) as_plan["request"] = document["request"];
  return read_request(JsonFields(as_plan, origin));
}

}  // namespace

FrontierDocument frontier_from_json(const json& document, const std::string& origin) {
  const JsonFields file(document, origin);
  check_schema(file, "headroom.frontier", planner::kFrontierVersion);
  FrontierDocument frontier;
  frontier.request = read_frontier_request(document, origin);
  frontier.assumed = file["assumed"].boolean();
  const JsonFields points = file["points"];
  const size_t count = points.size(kMostPoints);
  int64_t most_bytes = kMostBytes;
  double least_seconds = 0;
  for (size_t i = 0; i < count; ++i) {
    const JsonFields fields = points[i];
    planner::FrontierPoint point;
    // Each point must be smaller and slower than the one before.
    point.peak_bytes = fields["peak_bytes"].integer(0, most_bytes);
    point.seconds = fields["seconds"].number();
    if (point.seconds < least_seconds) {
      fields["seconds"].fail("expected at least " + json(least_seconds).dump() + ", found " +
                             json(point.seconds).dump());
    }
    point.configuration.weights = read_residency(fields["weights"]);
    point.configuration.micro_batch = fields["micro_batch"].integer(1, frontier.request.batch);
    point.configuration.lower_tier = read_lower_tier(fields["lower_tier"]);
    most_bytes = point.peak_bytes - 1;
    least_seconds = point.seconds;
    frontier.points.push_back(point);
  }
  return frontier;
}

const char* kind_of(const Document& document) {
  constexpr std::array kKinds{"plan",           "stats",          "trace",
                              "profile",        "frontier",       "plan of ranks",
                              "trace of ranks", "memory history", "recorded decodes"};  // as in the variant
  static_assert(kKinds.size() == std::variant_size_v<decltype(Document::contents)>);
  return kKinds[document.contents.index()];
}

std::string name_of(const Document& document) {
  return document.file.string() + (document.rank ? ", rank " + std::to_string(*document.rank) : "");
}

DocumentPtr read_document(const std::filesystem::path& file, const std::string& model) {
  const std::string schema = schema_of(file);
  auto document = std::make_shared<Document>();
  document->file = file;
  if (schema == "headroom.plan") {
    read_plan_document(*document, model);
  } else if (schema == "headroom.stats") {
    document->contents = read_stats(file);
  } else if (schema == "headroom.trace") {
    read_trace_document(*document);
  } else if (schema == "headroom.profile") {
    document->contents = profiler::read_profile(file);
  } else if (schema == "headroom.recording") {
    document->contents = profiler::read_eager_recording(file);
  } else if (schema == "headroom.frontier") {
    document->contents = frontier_from_json(read_json_file(file, kMostFileBytes), file.string());
  } else if (schema == kPickle) {
    document->contents = profiler::read_memory_snapshot(file);
  } else if (schema == "headroom.requests") {
    throw InputError(
        file.string() +
        ": schema: queues of requests are not shown here; expected a plan, stats, trace, profile or "
        "frontier");
  } else {
    throw InputError(file.string() +
                     ": schema: expected headroom.plan, headroom.stats, headroom.trace, headroom.profile, "
                     "headroom.recording or headroom.frontier, found " +
                     quoted(schema));
  }
  return document;
}

namespace {

/// Compares the last part of paths, because one folder may be named from different places.
bool same_model(const std::string& a, const std::string& b) {
  const auto last = [](const std::string& name) {
    const std::filesystem::path path(name);
    return path.has_filename() ? path.filename() : path.parent_path().filename();
  };
  return a == b || last(a) == last(b);
}

bool same_passes(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].empty() && !b[i].empty() && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

DecodeIdentity identity_of(const PlanDocument& document) {
  DecodeIdentity decode{document.plan.request, document.plan.limit_bytes, {}};
  for (const Pass& pass : document.plan.passes) decode.passes.push_back(pass.name);
  return decode;
}

DecodeIdentity identity_of(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  DecodeIdentity decode{trace.request, trace.limit_bytes, recorded.pass_names};
  decode.request.model = trace.model;
  return decode;
}

bool of_one_decode(const DecodeIdentity& a, const DecodeIdentity& b) {
  if (!same_model(a.request.model, b.request.model) || a.limit_bytes != b.limit_bytes ||
      !same_passes(a.passes, b.passes))
    return false;
  Request request = a.request;
  request.model = b.request.model;
  return request == b.request;
}

std::string text_of(const DecodeIdentity& decode) {
  const Request& request = decode.request;
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "x" +
                     std::to_string(request.height_pixels) + " " + arithmetic_of(request);
  text += on_text(request.device);
  if (request.frames > 1) text += ", " + counted(request.frames, "frame", "frames");
  if (request.batch > 1) text += ", batch " + std::to_string(request.batch);
  text += is_limit(decode.limit_bytes) ? ", limit " + format(Unit::bytes, double(decode.limit_bytes))
                                       : ", no limit";
  return text + ", " + counted(static_cast<int64_t>(decode.passes.size()), "pass", "passes");
}

}  // namespace headroom::reports
