#include "decoder/weights/weight_files.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr std::ptrdiff_t kKernel = 2;  ///< the axes from here on are a kernel's: frames, rows, columns

/// The shape without a kernel of 1×1, and without the frames of a kernel of one frame.
std::vector<int64_t> without_unit_kernel(std::vector<int64_t> shape) {
  const auto kernel = shape.begin() + std::min<std::ptrdiff_t>(std::ssize(shape), kKernel);
  if (std::all_of(kernel, shape.end(), [](int64_t length) { return length == 1; })) {
    shape.erase(kernel, shape.end());
  } else if (shape.size() == 5 && *kernel == 1) {
    shape.erase(kernel);
  }
  return shape;
}

}  // namespace

bool is_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored) {
  return without_unit_kernel(stored) == without_unit_kernel(parameter.shape);
}

void check_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored,
                        const std::string& where) {
  if (is_stored_shape(parameter, stored)) return;
  throw InputError(where + ": shape: expected " + printable(parameter.shape) + ", found " +
                   printable(stored));
}

void check_finite(const float* values, const Interval& elements, const std::string& where) {
  const int64_t bad = first_non_finite(values, elements.length());
  if (bad >= 0)
    throw InputError(where + ": element " + std::to_string(elements.begin + bad) + " is not finite");
}

namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestIndex = 64 << 20;
constexpr size_t kMostShards = 256;  // each holds a file descriptor

void check_shard_name(const JsonFields& field, const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                     name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
  if (!plain || !name.ends_with(".safetensors")) {
    field.fail("expected the plain name of a .safetensors file beside the index, found \"" + printable(name) +
               "\"");
  }
}

/// Advice on converting a folder's pickled weights to .safetensors files with diffusers, which merges shards.
std::string advice_on_pickles(const fs::path& folder, const std::string& stem) {
  for (const std::string variant : {"", "fp16", "bf16"}) {
    const std::string infix = variant.empty() ? "" : "." + variant;
    for (const std::string& name : {stem + infix + ".bin", stem + ".bin.index" + infix + ".json"}) {
      if (!is_there(folder / name)) continue;
      const std::string asked =
          (variant.empty() ? "" : ", variant='" + variant + "'") + std::string(", use_safetensors=False");
      return "; " + name + " is a PyTorch pickle; convert it: python -c \"from diffusers import AutoModel; " +
             "AutoModel.from_pretrained('" + printable(folder.string()) + "'" + asked +
             ").save_pretrained('" + printable(folder.string()) + "')\"";
    }
  }
  return "; --weights names another folder or file";
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& path) {
  open(path);
  std::vector<std::string> names;
  for (const auto& [name, file] : file_of_) names.push_back(name);
  names_ = TensorNames(names);
}

void WeightFiles::open(const fs::path& folder) {
  if (is_file_at(folder)) {
    origin_ = folder.string();
    return open_single(folder);
  }
  if (!is_folder_at(folder))
    throw InputError(folder.string() + ": no such folder of weights, nor a .safetensors file");
  const std::string stem = "diffusion_pytorch_model";
  for (const std::string& name : {stem + ".safetensors", stem + ".safetensors.index.json",
                                  stem + ".fp16.safetensors", stem + ".safetensors.index.fp16.json"}) {
    if (!is_there(folder / name)) continue;
    origin_ = (folder / name).string();
    name.ends_with(".json") ? open_shards(folder, folder / name) : open_single(folder / name);
    return;
  }
  throw InputError((folder / stem).string() +
                   ".safetensors: no such file, nor an index of shards or an fp16 variant" +
                   advice_on_pickles(folder, stem));
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
  const std::optional<std::string> stored = names_.find(name);
  if (!stored) return {};
  return {file_of_.at(*stored), *stored};
}

WeightFiles::Place WeightFiles::require(const std::string& name) const {
  Place place = place_of(name);
  const bool of_decoder = name.starts_with("decoder.") || name.starts_with("post_quant_conv.");
  if (place.file == nullptr && of_decoder && !has_decoder()) throw InputError(origin_ + ": " + kNoDecoder);
  if (place.file == nullptr)
    throw InputError(origin_ + ": " + printable(name) +
                     ": no such tensor (are these weights of another model?)");
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
  const std::string where = place.file->origin() + ": " + printable(view.name);
  check_stored_shape(parameter, view.shape, where);
  const Interval present = intersect(range, {0, view.elements()});
  copy_as_float(view, present, out);
  check_finite(out, present, where);
}

}  // namespace headroom
