#include "profiler/profile/profile_file.h"

#include <sstream>

namespace headroom {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kMostPixels = 1 << 20;
constexpr size_t kMostSizes = 1000;
constexpr size_t kMostLayers = 100000;

int64_t bytes(const JsonFields& field) { return field.integer(0, int64_t{1} << 60); }

double not_negative(const JsonFields& field) {
  const double value = field.number();
  if (value < 0) field.fail("expected a number of at least 0");
  return value;
}

}  // namespace

nlohmann::json to_json(const Profile& profile) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const ProfiledSize& size : profile.sizes) {
    nlohmann::json live = nlohmann::json::array();
    for (const LiveTensor& tensor : size.peak_live) live.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
    sizes.push_back({{"width_pixels", size.width_pixels},
                     {"height_pixels", size.height_pixels},
                     {"frames", size.frames},
                     {"batch", size.batch},
                     {"peak_bytes", size.peak_bytes},
                     {"seconds", size.seconds},
                     {"peak_layer", size.peak_layer},
                     {"peak_live", live}});
  }
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerProfile& layer : profile.layers) {
    nlohmann::json activation, live, workspace, seconds, flops;
    for (const LayerMeasurement& m : layer.sizes) {
      activation.push_back(m.activation_bytes);
      live.push_back(m.live_bytes);
      workspace.push_back(m.workspace_bytes);
      seconds.push_back(m.seconds);
      flops.push_back(m.flops);
    }
    layers.push_back({{"name", layer.name},
                      {"kind", layer.kind},
                      {"activation_bytes", activation},
                      {"live_bytes", live},
                      {"workspace_bytes", workspace},
                      {"seconds", seconds},
                      {"flops", flops}});
  }
  return {{"schema", "headroom.profile"},
          {"version", kProfileVersion},
          {"model", profile.model},
          {"dtype", name_of(profile.dtype)},
          {"device", profile.device},
          {"libraries", profile.libraries},
          {"weights_bytes", profile.weights_bytes},
          {"outside_bytes", profile.outside_bytes},
          {"sizes", sizes},
          {"layers", layers}};
}

Profile profile_from_json(const JsonFields& file) {
  check_schema(file, "headroom.profile", kProfileVersion);
  Profile profile;
  profile.model = file["model"].text();
  try {
    profile.dtype = parse_dtype(file["dtype"].text());
  } catch (const InputError&) {
    file["dtype"].fail("expected fp32, bf16 or fp16");
  }
  profile.device = file["device"].text();
  profile.libraries = file["libraries"].text();
  profile.weights_bytes = bytes(file["weights_bytes"]);
  profile.outside_bytes = bytes(file["outside_bytes"]);
  const JsonFields sizes = file["sizes"];
  for (size_t i = 0; i < sizes.size(kMostSizes); ++i) {
    const JsonFields entry = sizes[i];
    ProfiledSize size;
    size.width_pixels = entry["width_pixels"].integer(1, kMostPixels);
    size.height_pixels = entry["height_pixels"].integer(1, kMostPixels);
    size.frames = entry["frames"].integer(1, kMostPixels);
    size.batch = entry["batch"].integer(1, kMostPixels);
    size.peak_bytes = bytes(entry["peak_bytes"]);
    size.seconds = not_negative(entry["seconds"]);
    size.peak_layer = entry["peak_layer"].text();
    const JsonFields live = entry["peak_live"];
    for (size_t k = 0; k < live.size(kMostLayers); ++k) {
      size.peak_live.push_back({live[k]["name"].text(), bytes(live[k]["bytes"])});
    }
    profile.sizes.push_back(std::move(size));
  }
  if (profile.sizes.empty()) sizes.fail("expected at least one size");
  const JsonFields layers = file["layers"];
  for (size_t i = 0; i < layers.size(kMostLayers); ++i) {
    const JsonFields entry = layers[i];
    LayerProfile layer{entry["name"].text(), entry["kind"].text(), {}};
    for (const char* key : {"activation_bytes", "live_bytes", "workspace_bytes", "seconds", "flops"}) {
      if (entry[key].size(kMostSizes) != profile.sizes.size()) {
        entry[key].fail("expected one value per size, " + std::to_string(profile.sizes.size()));
      }
    }
    for (size_t k = 0; k < profile.sizes.size(); ++k) {
      layer.sizes.push_back({bytes(entry["activation_bytes"][k]), bytes(entry["live_bytes"][k]),
                             bytes(entry["workspace_bytes"][k]), not_negative(entry["seconds"][k]),
                             not_negative(entry["flops"][k])});
    }
    profile.layers.push_back(std::move(layer));
  }
  return profile;
}

Profile read_profile(const std::filesystem::path& file) {
  const nlohmann::json document = read_json_file(file, kMostBytes);
  return profile_from_json(JsonFields(document, file.string()));
}

std::string layers_csv(const Profile& profile) {
  std::ostringstream csv;
  csv << "layer,kind,width_pixels,height_pixels,activation_bytes,live_bytes,workspace_bytes,seconds,flops\n";
  for (const LayerProfile& layer : profile.layers) {
    for (size_t i = 0; i < layer.sizes.size(); ++i) {
      const LayerMeasurement& m = layer.sizes[i];
      csv << layer.name << ',' << layer.kind << ',' << profile.sizes[i].width_pixels << ',' << profile.sizes[i].height_pixels
          << ',' << m.activation_bytes << ',' << m.live_bytes << ',' << m.workspace_bytes << ',' << m.seconds << ','
          << m.flops << '\n';
    }
  }
  return csv.str();
}

}  // namespace headroom
