#include "profiler/profile/profile_file.h"

#include <nlohmann/json.hpp>

#include "decoder/base/text.h"
#include "decoder/plan/engine_choice_file.h"
#include "decoder/plan/plan_file.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kMostPixels = 1 << 20;
constexpr size_t kMostSizes = 1000;
constexpr size_t kMostLayers = 100000;
constexpr size_t kMostLatencyTables = 1000;
constexpr size_t kMostKnots = 1000;
constexpr int64_t kMostKnot = int64_t{1} << 40;

int64_t bytes(const JsonFields& field) {
  return field.integer(0, int64_t{1} << 60);
}

double not_negative(const JsonFields& field) {
  const double value = field.number();
  if (value < 0) field.fail("expected a number of at least 0");
  return value;
}

double more_than_zero(const JsonFields& field) {
  const double value = field.number();
  if (value <= 0 || value > 1e15) field.fail("expected a number above 0, at most 1e15");
  return value;
}

nlohmann::json to_json(const LatencyTable& latency_table) {
  return {{"name", latency_table.name},
          {"rows", latency_table.rows},
          {"columns", latency_table.columns},
          {"seconds", latency_table.seconds},
          {"workspace_bytes", latency_table.workspace_bytes},
          {"seen_positions", {latency_table.least_positions(), latency_table.most_positions()}},
          {"held_out_points", latency_table.held_out_points},
          {"held_out_error", latency_table.held_out_error},
          {"relative_error", latency_table.relative_error},
          {"noisy_points", latency_table.noisy_points}};
}

std::vector<int64_t> knots(const JsonFields& field) {
  std::vector<int64_t> list;
  for (size_t i = 0; i < field.size(kMostKnots); ++i) {
    list.push_back(field[i].integer(list.empty() ? 1 : list.back() + 1, kMostKnot));
  }
  if (list.empty()) field.fail("expected at least one extent");
  return list;
}

LatencyTable latency_table_from_json(const JsonFields& entry) {
  LatencyTable latency_table;
  latency_table.name = entry["name"].text();
  latency_table.rows = knots(entry["rows"]);
  latency_table.columns = knots(entry["columns"]);
  const size_t points = latency_table.rows.size() * latency_table.columns.size();
  for (const char* key : {"seconds", "workspace_bytes"}) {
    if (entry[key].size(kMostKnots * kMostKnots) != points) {
      entry[key].fail("expected one value for each row and column, " + std::to_string(points));
    }
  }
  for (size_t i = 0; i < points; ++i) {
    latency_table.seconds.push_back(more_than_zero(entry["seconds"][i]));
    latency_table.workspace_bytes.push_back(bytes(entry["workspace_bytes"][i]));
  }
  latency_table.held_out_points = bytes(entry["held_out_points"]);
  latency_table.held_out_error = not_negative(entry["held_out_error"]);
  latency_table.relative_error = not_negative(entry["relative_error"]);
  latency_table.noisy_points = bytes(entry["noisy_points"]);
  return latency_table;
}

nlohmann::json to_json(const MeasuredPrecision& precision) {
  return {{"target_error", precision.target},
          {"points", precision.points},
          {"noisy_points", precision.noisy_points},
          {"waited_share", precision.waited_share},
          {"decode_ratio", precision.decode_ratio}};
}

MeasuredPrecision precision_from_json(const JsonFields& entry) {
  return {not_negative(entry["target_error"]), bytes(entry["points"]), bytes(entry["noisy_points"]),
          not_negative(entry["waited_share"]), more_than_zero(entry["decode_ratio"])};
}

void read_latency_tables(const JsonFields& file, Profile& profile) {
  profile.threads = static_cast<int>(file["threads"].integer(1, 1 << 20));
  profile.weights_bytes_per_second = not_negative(file["weights_bytes_per_second"]);
  profile.transform_bytes_per_second = not_negative(file["transform_bytes_per_second"]);
  profile.weights_source = file["weights_source"].text();
  if (file.has("to_host_bytes_per_second"))
    profile.to_host_bytes_per_second = more_than_zero(file["to_host_bytes_per_second"]);
  if (file.has("from_host_bytes_per_second"))
    profile.from_host_bytes_per_second = more_than_zero(file["from_host_bytes_per_second"]);
  if (file.has("scratch")) {
    const JsonFields scratch = file["scratch"];
    profile.scratch_folder = scratch["folder"].text();
    profile.scratch_write_bytes_per_second = more_than_zero(scratch["scratch_write_bytes_per_second"]);
    profile.scratch_read_bytes_per_second = more_than_zero(scratch["scratch_read_bytes_per_second"]);
  }
  profile.precision = precision_from_json(file["precision"]);
  const JsonFields latency_tables = file["latency_tables"];
  for (size_t i = 0; i < latency_tables.size(kMostLatencyTables); ++i) {
    profile.latency_tables.push_back(latency_table_from_json(latency_tables[i]));
    const LatencyTable* first = profile.find_latency_table(profile.latency_tables.back().name);
    if (first != &profile.latency_tables.back())
      latency_tables[i]["name"].fail("expected a name of its own, found that of an earlier latency table");
  }
}

nlohmann::json to_json(const LayerProfile& layer) {
  nlohmann::json activation, live, workspace, seconds, flops;
  for (const LayerMeasurement& m : layer.sizes) {
    activation.push_back(m.activation_bytes);
    live.push_back(m.live_bytes);
    workspace.push_back(m.workspace_bytes);
    seconds.push_back(m.seconds);
    flops.push_back(m.flops);
  }
  return {{"name", layer.name},
          {"kind", layer.kind},
          {"latency_table", layer.latency_table},
          {"activation_bytes", activation},
          {"live_bytes", live},
          {"workspace_bytes", workspace},
          {"seconds", seconds},
          {"flops", flops}};
}

/// `profile` must already have its sizes and latency tables.
LayerProfile layer_from_json(const JsonFields& entry, const Profile& profile) {
  LayerProfile layer{entry["name"].text(), entry["kind"].text(), {}};
  layer.latency_table = entry["latency_table"].text();
  if (profile.find_latency_table(layer.latency_table) == nullptr)
    entry["latency_table"].fail("expected the name of one of the entries of latency_tables");
  for (const char* key : {"activation_bytes", "live_bytes", "workspace_bytes", "seconds", "flops"}) {
    if (entry[key].size(kMostSizes) != profile.sizes.size())
      entry[key].fail("expected one value per size, " + std::to_string(profile.sizes.size()));
  }
  for (size_t i = 0; i < profile.sizes.size(); ++i) {
    layer.sizes.push_back({bytes(entry["activation_bytes"][i]), bytes(entry["live_bytes"][i]),
                           bytes(entry["workspace_bytes"][i]), not_negative(entry["seconds"][i]),
                           not_negative(entry["flops"][i])});
  }
  return layer;
}

/// A JSON array of the entries.
template <typename Entry>
nlohmann::json list_of(const std::vector<Entry>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const Entry& entry : entries) list.push_back(to_json(entry));
  return list;
}

/// Reads the model, device and libraries of the measurement.
void read_origin(const JsonFields& file, Profile& profile) {
  profile.model = file["model"].text();
  profile.direction = direction_from_json(file);
  try {
    profile.dtype = parse_dtype(file["dtype"].text());
  } catch (const InputError&) {
    file["dtype"].fail("expected fp32, bf16 or fp16");
  }
  profile.tf32 = tf32_from_json(file);
  profile.device = file["device"].text();
  const std::string kind = file["device_kind"].text();
  if (kind != "cpu" && kind != "cuda")
    file["device_kind"].fail("expected cpu or cuda, found " +
                             file["device_kind"].value().dump().substr(0, 40));
  profile.device_kind = parse_device(kind);
  profile.libraries = file["libraries"].text();
  profile.weights_bytes = bytes(file["weights_bytes"]);
  profile.outside_bytes = bytes(file["outside_bytes"]);
}

}  // namespace

nlohmann::json to_json(const ProfiledSize& size) {
  nlohmann::json live = nlohmann::json::array();
  for (const LiveTensor& tensor : size.peak_live)
    live.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  return {{"width_pixels", size.width_pixels},
          {"height_pixels", size.height_pixels},
          {"frames", size.frames},
          {"batch", size.batch},
          {"peak_bytes", size.peak_bytes},
          {"seconds", size.seconds},
          {"peak_layer", size.peak_layer},
          {"peak_live", live}};
}

ProfiledSize size_from_json(const JsonFields& entry) {
  ProfiledSize size;
  size.width_pixels = entry["width_pixels"].integer(1, kMostPixels);
  size.height_pixels = entry["height_pixels"].integer(1, kMostPixels);
  size.frames = entry["frames"].integer(1, kMostPixels);
  size.batch = entry["batch"].integer(1, kMostPixels);
  size.peak_bytes = bytes(entry["peak_bytes"]);
  size.seconds = not_negative(entry["seconds"]);
  size.peak_layer = entry["peak_layer"].text();
  const JsonFields live = entry["peak_live"];
  for (size_t i = 0; i < live.size(kMostLayers); ++i)
    size.peak_live.push_back({live[i]["name"].text(), bytes(live[i]["bytes"])});
  return size;
}

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json out{{"schema", "headroom.profile"},
                     {"version", kProfileVersion},
                     {"model", profile.model},
                     {"dtype", name_of(profile.dtype)},
                     {"device", profile.device},
                     {"device_kind", name_of(profile.device_kind)},
                     {"libraries", profile.libraries},
                     {"threads", profile.threads},
                     {"weights_bytes", profile.weights_bytes},
                     {"weights_bytes_per_second", profile.weights_bytes_per_second},
                     {"transform_bytes_per_second", profile.transform_bytes_per_second},
                     {"weights_source", profile.weights_source},
                     {"outside_bytes", profile.outside_bytes},
                     {"sizes", list_of(profile.sizes)},
                     {"layers", list_of(profile.layers)},
                     {"latency_tables", list_of(profile.latency_tables)},
                     {"precision", to_json(profile.precision)}};
  if (profile.tf32.any()) out["tf32"] = name_of(profile.tf32);
  if (!profile.engines.empty()) out["engines"] = headroom::to_json(profile.engines);
  if (encodes(profile.direction)) out["direction"] = name_of(profile.direction);
  if (profile.to_host_bytes_per_second > 0)
    out["to_host_bytes_per_second"] = profile.to_host_bytes_per_second;
  if (profile.from_host_bytes_per_second > 0)
    out["from_host_bytes_per_second"] = profile.from_host_bytes_per_second;
  if (!profile.scratch_folder.empty()) {
    out["scratch"] = {{"folder", profile.scratch_folder},
                      {"scratch_write_bytes_per_second", profile.scratch_write_bytes_per_second},
                      {"scratch_read_bytes_per_second", profile.scratch_read_bytes_per_second}};
  }
  return out;
}

Profile profile_from_json(const JsonFields& file) {
  check_schema(file, "headroom.profile", kProfileVersion);
  Profile profile;
  read_origin(file, profile);
  const JsonFields sizes = file["sizes"];
  for (size_t i = 0; i < sizes.size(kMostSizes); ++i) profile.sizes.push_back(size_from_json(sizes[i]));
  if (profile.sizes.empty()) sizes.fail("expected at least one size");
  read_latency_tables(file, profile);
  profile.engines = engine_choices_of(file);
  const JsonFields layers = file["layers"];
  for (size_t i = 0; i < layers.size(kMostLayers); ++i)
    profile.layers.push_back(layer_from_json(layers[i], profile));
  return profile;
}

Profile read_profile(const std::filesystem::path& file) {
  const nlohmann::json document = read_json_file(file, kMostBytes);
  return profile_from_json(JsonFields(document, file.string()));
}

std::string layers_csv(const Profile& profile) {
  TextWriter csv;
  csv << "layer,kind,width_pixels,height_pixels,activation_bytes,live_bytes,workspace_bytes,seconds,flops\n";
  for (const LayerProfile& layer : profile.layers) {
    for (size_t i = 0; i < layer.sizes.size(); ++i) {
      const LayerMeasurement& m = layer.sizes[i];
      csv << layer.name << ',' << layer.kind << ',' << profile.sizes[i].width_pixels << ','
          << profile.sizes[i].height_pixels << ',' << m.activation_bytes << ',' << m.live_bytes << ','
          << m.workspace_bytes << ',' << m.seconds << ',' << m.flops << '\n';
    }
  }
  return csv.str();
}

}  // namespace headroom::profiler
