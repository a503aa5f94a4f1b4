#include "decoder/plan/stats_file.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int64_t kMostStatsBytes = int64_t{64} << 20;
constexpr size_t kMostParts = 100;
constexpr size_t kMostEngines = 10'000;
constexpr size_t kMostPassesRun = 1'000'000;
constexpr size_t kMostDecodes = 100'000;

/// JSON has no infinity, so the PSNR of equal decodes becomes null.
json decibels_to_json(double decibels) {
  return std::isfinite(decibels) ? json(decibels) : json(nullptr);
}

double read_decibels(const JsonFields& fields) {
  return fields.is_null() ? std::numeric_limits<double>::infinity() : fields.number();
}

json to_json(const PassStats& pass) {
  return {{"name", pass.name},
          {"predicted_peak_bytes", pass.predicted_peak_bytes},
          {"peak_bytes", pass.peak_bytes},
          {"predicted_seconds", pass.predicted_seconds},
          {"seconds", pass.seconds}};
}

PassStats read_pass(const JsonFields& fields) {
  PassStats pass;
  pass.name = fields["name"].text();
  pass.predicted_peak_bytes = fields["predicted_peak_bytes"].integer(0, kMostBytes);
  pass.peak_bytes = fields["peak_bytes"].integer(0, kMostBytes);
  pass.predicted_seconds = fields["predicted_seconds"].amount();
  pass.seconds = fields["seconds"].amount();
  return pass;
}

json to_json(const Verification& verification) {
  return {{"compared_with", verification.compared_with},
          {"largest_error", verification.largest_error},
          {"largest_error_relative", verification.largest_error_relative},
          {"reference_magnitude", verification.reference_magnitude},
          {"psnr_db", decibels_to_json(verification.psnr_db)}};
}

Verification read_verification(const JsonFields& fields) {
  Verification verification;
  verification.compared_with = fields["compared_with"].text();
  verification.largest_error = fields["largest_error"].amount();
  verification.largest_error_relative = fields["largest_error_relative"].amount();
  verification.reference_magnitude = fields["reference_magnitude"].amount();
  verification.psnr_db = read_decibels(fields["psnr_db"]);
  return verification;
}

json to_json(const DecodeStats& decode) {
  return {{"name", decode.name},
          {"request", decode.request},
          {"repetition", decode.repetition},
          {"plan", decode.plan},
          {"seconds", decode.seconds},
          {"output_wait_seconds", decode.output_wait_seconds},
          {"peak_bytes", decode.peak_bytes},
          {"pool_peak_bytes", decode.pool_peak_bytes},
          {"resident_bytes", decode.resident_bytes},
          {"outside_growth_bytes", decode.outside_growth_bytes}};
}

DecodeStats read_decode(const JsonFields& fields) {
  DecodeStats decode;
  decode.name = fields["name"].text();
  decode.request = static_cast<int32_t>(fields["request"].integer(0, INT32_MAX));
  decode.repetition = static_cast<int32_t>(fields["repetition"].integer(0, INT32_MAX));
  decode.plan = static_cast<int32_t>(fields["plan"].integer(0, INT32_MAX));
  decode.seconds = fields["seconds"].amount();
  decode.output_wait_seconds = fields["output_wait_seconds"].amount();
  decode.peak_bytes = fields["peak_bytes"].integer(0, kMostBytes);
  decode.pool_peak_bytes = fields["pool_peak_bytes"].integer(0, kMostBytes);
  decode.resident_bytes = fields["resident_bytes"].integer(0, kMostBytes);
  decode.outside_growth_bytes = fields["outside_growth_bytes"].integer(-kMostBytes, kMostBytes);
  return decode;
}

json to_json(const PartStats& part) {
  return {{"name", part.name}, {"seconds", part.seconds}};
}

json to_json(const EngineStats& engine) {
  return {{"name", engine.name}, {"compiled", engine.compiled}, {"runs", engine.runs}};
}

std::vector<EngineStats> read_engines(const JsonFields& fields) {
  std::vector<EngineStats> engines(fields.size(kMostEngines));
  for (size_t i = 0; i < engines.size(); ++i) {
    engines[i].name = fields[i]["name"].text();
    engines[i].compiled = fields[i]["compiled"].boolean();
    engines[i].runs = fields[i]["runs"].integer(0, INT64_MAX);
  }
  return engines;
}

json to_json(const RankStats& rank) {
  return {{"latent_rows", {rank.latent_rows.begin, rank.latent_rows.end}},
          {"limit_bytes", rank.limit_bytes},
          {"predicted_peak_bytes", rank.predicted_peak_bytes},
          {"peak_bytes", rank.peak_bytes},
          {"pool_peak_bytes", rank.pool_peak_bytes},
          {"seconds", rank.seconds},
          {"predicted_sent_bytes", rank.predicted_sent_bytes},
          {"sent_bytes", rank.sent_bytes}};
}

RankStats read_rank(const JsonFields& fields) {
  RankStats rank;
  const JsonFields rows = fields["latent_rows"];
  if (rows.size(2) != 2) rows.fail("expected two integers");
  rank.latent_rows = {rows[0].integer(0, kMostPixels), rows[1].integer(0, kMostPixels)};
  rank.limit_bytes = fields["limit_bytes"].integer(0, INT64_MAX);
  rank.predicted_peak_bytes = fields["predicted_peak_bytes"].integer(0, kMostBytes);
  rank.peak_bytes = fields["peak_bytes"].integer(0, kMostBytes);
  rank.pool_peak_bytes = fields["pool_peak_bytes"].integer(0, kMostBytes);
  rank.seconds = fields["seconds"].amount();
  rank.predicted_sent_bytes = fields["predicted_sent_bytes"].integer(0, kMostBytes);
  rank.sent_bytes = fields["sent_bytes"].integer(0, kMostBytes);
  return rank;
}

QueueStats read_queue(const JsonFields& file) {
  QueueStats queue;
  const JsonFields decodes = file["decodes"];
  const size_t count = decodes.size(kMostDecodes);
  for (size_t i = 0; i < count; ++i) queue.decodes.push_back(read_decode(decodes[i]));
  queue.resident_before_bytes = file["resident_before_bytes"].integer(0, kMostBytes);
  queue.pool_allocations = file["pool_allocations"].integer(0, kMostBytes);
  queue.pool_growth_bytes = file["pool_growth_bytes"].integer(-kMostBytes, kMostBytes);
  queue.outside_growth_after_warmup_bytes =
      file["outside_growth_after_warmup_bytes"].integer(-kMostBytes, kMostBytes);
  return queue;
}

}  // namespace

json to_json(const RunStats& stats) {
  json passes = json::array();
  for (const PassStats& pass : stats.passes) passes.push_back(to_json(pass));
  json out{{"schema", "headroom.stats"},
           {"version", kStatsVersion},
           {"limit_bytes", stats.limit_bytes},
           {"predicted_peak_bytes", stats.predicted_peak_bytes},
           {"peak_bytes", stats.peak_bytes},
           {"pool_peak_bytes", stats.pool_peak_bytes},
           {"outside_bytes", stats.outside_bytes},
           {"rss_growth_bytes", stats.rss_growth_bytes},
           {"predicted_seconds", stats.predicted_seconds},
           {"seconds", stats.seconds},
           {"output_wait_seconds", stats.output_wait_seconds},
           {"scratch_written_bytes", stats.scratch_written_bytes},
           {"scratch_read_bytes", stats.scratch_read_bytes},
           {"transfer_wait_seconds", stats.transfer_wait_seconds},
           {"passes", std::move(passes)},
           {"device", stats.device},
           {"libraries", stats.libraries},
           {"threads", stats.threads},
           {"dtype", stats.dtype}};
  if (stats.tf32.any()) out["tf32"] = name_of(stats.tf32);
  if (stats.to_host_bytes + stats.from_host_bytes > 0) {
    out["to_host_bytes"] = stats.to_host_bytes;
    out["from_host_bytes"] = stats.from_host_bytes;
  }
  if (stats.host_weights_bytes > 0) out["host_weights_bytes"] = stats.host_weights_bytes;
  const auto add_list = [&](const char* key, const auto& items) {
    if (items.empty()) return;
    // Start with an array: push_back() on a null value leaves the JSON library in a broken state if memory
    // runs out.
    json& list = out[key] = json::array();
    for (const auto& item : items) list.push_back(to_json(item));
  };
  add_list("parts", stats.parts);
  add_list("engines", stats.engines);
  if (!stats.weights_hash.empty()) out["weights_hash"] = stats.weights_hash;
  add_list("ranks", stats.ranks);
  if (stats.verification) out["verification"] = to_json(*stats.verification);
  if (stats.queue) {
    out["decodes"] = json::array();
    for (const DecodeStats& decode : stats.queue->decodes) out["decodes"].push_back(to_json(decode));
    out["resident_before_bytes"] = stats.queue->resident_before_bytes;
    out["pool_allocations"] = stats.queue->pool_allocations;
    out["pool_growth_bytes"] = stats.queue->pool_growth_bytes;
    out["outside_growth_after_warmup_bytes"] = stats.queue->outside_growth_after_warmup_bytes;
  }
  return out;
}

RunStats stats_from_json(const JsonFields& file) {
  check_schema(file, "headroom.stats", kStatsVersion);
  RunStats stats;
  stats.limit_bytes = file["limit_bytes"].integer(0, INT64_MAX);  // INT64_MAX means no limit
  stats.predicted_peak_bytes = file["predicted_peak_bytes"].integer(0, kMostBytes);
  stats.peak_bytes = file["peak_bytes"].integer(0, kMostBytes);
  stats.pool_peak_bytes = file["pool_peak_bytes"].integer(0, kMostBytes);
  // Growth is a difference of two readings and can be negative.
  stats.outside_bytes = file["outside_bytes"].integer(-kMostBytes, kMostBytes);
  stats.rss_growth_bytes = file["rss_growth_bytes"].integer(-kMostBytes, kMostBytes);
  stats.predicted_seconds = file["predicted_seconds"].amount();
  stats.seconds = file["seconds"].amount();
  stats.output_wait_seconds = file["output_wait_seconds"].amount();
  stats.scratch_written_bytes = file["scratch_written_bytes"].integer(0, kMostBytes);
  stats.scratch_read_bytes = file["scratch_read_bytes"].integer(0, kMostBytes);
  stats.transfer_wait_seconds = file["transfer_wait_seconds"].amount();
  const JsonFields passes = file["passes"];
  const size_t count = passes.size(kMostPassesRun);
  for (size_t i = 0; i < count; ++i) stats.passes.push_back(read_pass(passes[i]));
  if (file.has("to_host_bytes")) stats.to_host_bytes = file["to_host_bytes"].integer(0, kMostBytes);
  if (file.has("host_weights_bytes"))
    stats.host_weights_bytes = file["host_weights_bytes"].integer(0, kMostBytes);
  if (file.has("from_host_bytes")) stats.from_host_bytes = file["from_host_bytes"].integer(0, kMostBytes);
  if (file.has("parts")) {
    const JsonFields parts = file["parts"];
    const size_t kinds = parts.size(kMostParts);
    for (size_t i = 0; i < kinds; ++i)
      stats.parts.push_back({parts[i]["name"].text(), parts[i]["seconds"].amount()});
  }
  if (file.has("engines")) stats.engines = read_engines(file["engines"]);
  stats.device = file["device"].text();
  stats.libraries = file["libraries"].text();
  stats.threads = static_cast<int>(file["threads"].integer(0, 1'000'000));
  stats.dtype = file["dtype"].text();
  stats.tf32 = tf32_from_json(file);
  if (file.has("weights_hash")) stats.weights_hash = file["weights_hash"].text();
  if (file.has("ranks")) {
    const JsonFields ranks = file["ranks"];
    const size_t rank_count = ranks.size(kMostRanks);
    for (size_t i = 0; i < rank_count; ++i) stats.ranks.push_back(read_rank(ranks[i]));
  }
  if (file.has("verification")) stats.verification = read_verification(file["verification"]);
  if (file.has("decodes")) stats.queue = read_queue(file);
  return stats;
}

RunStats read_stats(const std::filesystem::path& file) {
  const json document = read_json_file(file, kMostStatsBytes);
  return stats_from_json(JsonFields(document, file.string()));
}

void write_stats(const std::filesystem::path& file, const RunStats& stats) {
  write_file_whole(file, to_json(stats).dump(1) + '\n');
}

}  // namespace headroom
