#include "decoder/weights/weight_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "decoder/files/printable.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/json_fields.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestIndex = 64 << 20;
constexpr size_t kMostShards = 256;  // each holds a file descriptor

/// diffusers' names before its attention blocks were unified; group_norm kept its name.
std::string old_name(const std::string& name) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kRenamed = {
      {{".to_q.", ".query."}, {".to_k.", ".key."}, {".to_v.", ".value."}, {".to_out.0.", ".proj_attn."}}};
  for (const auto& [now, before] : kRenamed) {
    const size_t at = name.rfind(now);
    if (at == std::string::npos || name.find(".attentions.") > at) continue;
    return std::string(name).replace(at, std::string_view(now).size(), before);
  }
  return name;
}

/// The shape of a 1×1 convolution without its kernel.
std::vector<int64_t> without_unit_kernel(const std::vector<int64_t>& shape) {
  for (size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] != 1) return shape;
  }
  return {shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(shape.size(), 2))};
}

void check_shard_name(const JsonFields& field, const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                     name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
  if (!plain || !name.ends_with(".safetensors")) {
    field.fail("expected the plain name of a .safetensors file beside the index, found \"" + printable(name) +
               "\"");
  }
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw InputError(folder.string() + ": no such folder of weights");
  const std::string stem = "diffusion_pytorch_model";
  for (const std::string& name : {stem + ".safetensors", stem + ".safetensors.index.json",
                                  stem + ".fp16.safetensors", stem + ".safetensors.index.fp16.json"}) {
    if (!fs::exists(folder / name, error)) continue;
    origin_ = (folder / name).string();
    name.ends_with(".json") ? open_shards(folder, folder / name) : open_single(folder / name);
    return;
  }
  throw InputError((folder / stem).string() +
                   ".safetensors: no such file, nor an index of shards or an fp16 variant");
}

void WeightFiles::open_single(const fs::path& path) {
  const auto& file = files_[path.filename().string()] = std::make_unique<SafetensorsFile>(path);
  for (const std::string& tensor : file->names()) file_of_[tensor] = file.get();
}

void WeightFiles::open_shards(const fs::path& folder, const fs::path& index) {
  const nlohmann::json json = read_json_file(index, kLargestIndex);
  const JsonFields map = JsonFields(json, index.string())["weight_map"];
  if (!map.value().is_object()) map.fail("expected an object");
  for (const auto& [tensor, unused] : map.value().items()) {
    const JsonFields field(map.value()[tensor], index.string(), "weight_map." + printable(tensor));
    const std::string name = field.text();
    check_shard_name(field, name);
    auto& file = files_[name];
    if (files_.size() > kMostShards)
      map.fail("expected at most " + std::to_string(kMostShards) + " different files");
    if (file == nullptr) file = std::make_unique<SafetensorsFile>(folder / name);
    file_of_[tensor] = file.get();
  }
}

WeightFiles::Place WeightFiles::place_of(const std::string& name) const {
  for (const std::string& candidate : {name, old_name(name)}) {
    const auto found = file_of_.find(candidate);
    if (found != file_of_.end()) return {found->second, candidate};
  }
  return {};
}

WeightFiles::Place WeightFiles::require(const std::string& name) const {
  Place place = place_of(name);
  if (place.file == nullptr) throw InputError(origin_ + ": " + printable(name) + ": no such tensor");
  return place;
}

bool WeightFiles::contains(const std::string& name) const {
  return place_of(name).file != nullptr;
}

TensorView WeightFiles::find(const std::string& name) const {
  const Place place = require(name);
  return place.file->tensor(place.stored_name);
}

void WeightFiles::read(const Parameter& parameter, float* out) const {
  int64_t count = 1;
  for (const int64_t extent : parameter.shape) count *= extent;
  read(parameter, {0, count}, out);
}

void WeightFiles::read(const Parameter& parameter, const Interval& range, float* out) const {
  const Place place = require(parameter.name);
  const TensorView view = place.file->tensor(place.stored_name);
  const std::string where = place.file->origin() + ": " + printable(view.name) + ": ";
  if (without_unit_kernel(view.shape) != without_unit_kernel(parameter.shape)) {
    throw InputError(where + "shape: expected " + printable(parameter.shape) + ", found " +
                     printable(view.shape));
  }
  const Interval present = intersect(range, {0, view.elements()});
  copy_as_float(view, present, out);
  const int64_t bad = first_non_finite(out, present.length());
  if (bad >= 0) throw InputError(where + "element " + std::to_string(present.begin + bad) + " is not finite");
}

}  // namespace headroom
