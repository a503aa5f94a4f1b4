#include "profiler/measure/partial_profile.h"

#include <nlohmann/json.hpp>

#include "decoder/graph/json_fields.h"
#include "decoder/graph/system_failure.h"
#include "decoder/outputs/whole_file.h"
#include "profiler/profile/profile_file.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;

constexpr int64_t kVersion = 1;
constexpr int64_t kMostFileBytes = int64_t{256} << 20;
constexpr size_t kMost = 1'000'000;
constexpr int64_t kMostNumber = int64_t{1} << 60;

json to_json(const MeasuredDecode& decode) {
  json layers = json::array();
  for (const LayerMeasurement& layer : decode.layers)
    layers.push_back(
        {layer.activation_bytes, layer.live_bytes, layer.workspace_bytes, layer.seconds, layer.flops});
  json calls = json::array();
  for (const DecodeCalls& each : decode.calls)
    calls.push_back({each.table, each.rows, each.columns, each.calls, each.seconds, each.look});
  json out = to_json(decode.size);
  out["outside_bytes"] = decode.outside_bytes;
  out["waited_share"] = decode.waited_share;
  out["calls"] = calls;
  out["layers"] = layers;
  return out;
}

size_t look_from_json(const JsonFields& field, const MeasuredPoints& points) {
  return static_cast<size_t>(field.integer(0, static_cast<int64_t>(points.reference_seconds.size()) - 1));
}

MeasuredDecode decode_from_json(const JsonFields& entry, const MeasuredPoints& points) {
  const auto number = [](const JsonFields& field) { return field.integer(0, kMostNumber); };
  MeasuredDecode decode;
  decode.size = size_from_json(entry);
  decode.outside_bytes = number(entry["outside_bytes"]);
  decode.waited_share = entry["waited_share"].amount();
  const JsonFields calls = entry["calls"];
  for (size_t i = 0; i < calls.size(kMost); ++i)
    decode.calls.push_back({calls[i][size_t{0}].text(), calls[i][1].integer(1, kMostNumber),
                            calls[i][2].integer(1, kMostNumber), calls[i][3].amount(), calls[i][4].amount(),
                            look_from_json(calls[i][5], points)});
  const JsonFields layers = entry["layers"];
  for (size_t i = 0; i < layers.size(kMost); ++i)
    decode.layers.push_back({number(layers[i][size_t{0}]), number(layers[i][1]), number(layers[i][2]),
                             layers[i][3].amount(), layers[i][4].amount()});
  return decode;
}

json to_json(const MeasuredPoints& points) {
  json tables = json::object();
  for (const auto& [name, found] : points.tables) {
    json list = json::array();
    for (const MeasuredPoint& point : found) {
      json visits = json::array();
      for (const Visit& visit : point.visits)
        visits.push_back({visit.seconds, visit.look, visit.waited_share});
      list.push_back({point.workspace_bytes, visits});
    }
    tables[name] = list;
  }
  return {{"reference_seconds", points.reference_seconds}, {"tables", tables}};
}

MeasuredPoints points_from_json(const JsonFields& entry) {
  MeasuredPoints points;
  const JsonFields looks = entry["reference_seconds"], tables = entry["tables"];
  for (size_t i = 0; i < looks.size(kMost); ++i) points.reference_seconds.push_back(looks[i].amount());
  for (const auto& [name, list] : tables.value().items()) {
    const JsonFields found = tables[name.c_str()];
    std::vector<MeasuredPoint>& table = points.tables[name];
    for (size_t i = 0; i < found.size(kMost); ++i) {
      table.push_back({{}, found[i][size_t{0}].integer(0, kMostNumber)});
      const JsonFields visits = found[i][1];
      for (size_t v = 0; v < visits.size(kMost); ++v) {
        table.back().visits.push_back(
            {visits[v][size_t{0}].amount(), look_from_json(visits[v][1], points), visits[v][2].amount()});
      }
    }
  }
  return points;
}

}  // namespace

void write_partial_profile(const std::filesystem::path& file, const PartialProfile& partial) {
  json decodes = json::array();
  for (const MeasuredDecode& decode : partial.decodes) decodes.push_back(to_json(decode));
  write_file_whole(file, json{{"schema", "headroom.partial_profile"},
                              {"version", kVersion},
                              {"of", partial.of},
                              {"decodes", decodes},
                              {"points", to_json(partial.points)}}
                                 .dump() +
                             "\n");
}

std::optional<PartialProfile> read_partial_profile(const std::filesystem::path& file, const std::string& of) {
  if (!is_there(file)) return std::nullopt;
  const json document = read_json_file(file, kMostFileBytes);
  const JsonFields fields(document, file.string());
  check_schema(fields, "headroom.partial_profile", kVersion);
  PartialProfile partial{fields["of"].text(), {}, {}};
  if (partial.of != of) return std::nullopt;
  const JsonFields decodes = fields["decodes"];
  partial.points = points_from_json(fields["points"]);
  for (size_t i = 0; i < decodes.size(kMost); ++i)
    partial.decodes.push_back(decode_from_json(decodes[i], partial.points));
  return partial;
}

}  // namespace headroom::profiler
