#include "decoder/files/latent_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/npy.h"
#include "decoder/files/safetensors.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/files/torch_file.h"

namespace headroom {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30;
// Keys that ComfyUI's nodes SaveLatent and LoadLatent use.
constexpr const char* kComfyuiTensor = "latent_tensor";
constexpr const char* kComfyuiVersion = "latent_format_version_0";

}  // namespace

int64_t require_latent_shape(const std::vector<int64_t>& shape, const std::string& where) {
  if (shape.size() < 3 || shape.size() > 5) {
    throw InputError(where + ": shape: expected C×H×W, N×C×H×W or N×C×T×H×W, found " + printable(shape));
  }
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 1) throw InputError(where + ": shape: expected positive extents, found " + printable(shape));
    if (extent > kMostElements / elements) {
      throw InputError(where + ": shape: expected at most 2^30 elements, found " + printable(shape));
    }
    elements *= extent;
  }
  return elements;
}

void require_finite(const Array& latent, const std::string& where) {
  const int64_t bad = first_non_finite(latent.values.data(), static_cast<int64_t>(latent.values.size()));
  if (bad >= 0) throw InputError(where + ": element " + std::to_string(bad) + " is not finite");
}

namespace {

Array read_npy(const std::string& path) {
  const ReadOnlyFile file(path);
  std::string start(static_cast<size_t>(std::min(file.bytes(), kMostNpyHeaderBytes)), '\0');
  file.read_at(0, start.data(), static_cast<int64_t>(start.size()));
  const NpyHeader header = parse_npy_header(start, path);
  require_npy_size(header, file.bytes(), path);
  const int64_t elements = require_latent_shape(header.shape, path);
  Array latent{header.shape, std::vector<float>(static_cast<size_t>(elements))};
  read_as_float(file, header.data_begin, header.dtype, elements, latent.values.data());
  require_finite(latent, path);
  return latent;
}

/// Names of the first few tensors of a file, for a message.
std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

Array read_tensor(const SafetensorsFile& file, const std::string& key) {
  const TensorView view = file.tensor(key);
  const std::string where = file.origin() + ": " + printable(view.name);
  const int64_t elements = require_latent_shape(view.shape, where);
  Array latent{view.shape, std::vector<float>(static_cast<size_t>(elements))};
  copy_as_float(view, latent.values.data());
  require_finite(latent, where);
  return latent;
}

/// Files without the version key hold Stable Diffusion latents with the pipelines' scaling.
StoredLatent read_comfyui(const SafetensorsFile& file) {
  constexpr float kScaleOfOldFiles = 0.18215f;
  if (!file.contains(kComfyuiTensor))
    throw InputError(file.origin() + ": expected ComfyUI's tensor " + kComfyuiTensor + ", found " +
                     (file.names().empty() ? "none" : some_names(file.names())));
  StoredLatent latent{read_tensor(file, kComfyuiTensor), true};
  if (!file.contains(kComfyuiVersion)) {
    for (float& value : latent.array.values) value *= 1.0f / kScaleOfOldFiles;
  }
  return latent;
}

/// An empty `key` selects the file's only tensor.
StoredLatent read_safetensors(const std::string& path, const std::string& key) {
  const SafetensorsFile file(path);
  if (!key.empty()) return {read_tensor(file, key), false};
  if (file.names().empty()) throw InputError(path + ": expected a tensor, found none");
  if (file.contains(kComfyuiTensor) && file.contains(kComfyuiVersion)) return read_comfyui(file);
  if (file.names().size() > 1)
    throw InputError(path + ": holds " + std::to_string(file.names().size()) +
                     " tensors: name one of them, FILE.safetensors:NAME (" + some_names(file.names()) + ")");
  return {read_tensor(file, file.names().front()), false};
}

Array read_torch(const std::string& path, const std::string& key) {
  Array latent = read_torch_file(path, key);
  require_latent_shape(latent.shape, path);
  require_finite(latent, path);
  return latent;
}

struct PathAndKey {
  std::string path, key;
};

constexpr const char* kSuffixesWithKeys[] = {".safetensors", ".sft", ".latent", ".pt", ".pth"};

/// Splits FILE.suffix:NAME, with one of kSuffixesWithKeys. The key is empty for FILE.suffix. Returns nullopt
/// for any other argument.
std::optional<PathAndKey> path_and_key(const std::string& argument) {
  const std::string in_lower_case = lower_case(argument);
  for (const std::string suffix : kSuffixesWithKeys) {
    if (in_lower_case.ends_with(suffix)) return PathAndKey{argument, ""};
    const size_t at = in_lower_case.find(suffix + ":");
    if (at == std::string::npos) continue;
    const size_t colon = at + suffix.size();
    return PathAndKey{argument.substr(0, colon), argument.substr(colon + 1)};
  }
  return std::nullopt;
}

}  // namespace

std::string latent_file_of(const std::string& argument) {
  const std::optional<PathAndKey> parts = path_and_key(argument);
  return parts ? parts->path : argument;
}

StoredLatent read_stored_latent(const std::string& argument) {
  const std::string in_lower_case = lower_case(argument);
  if (in_lower_case.ends_with(".npy")) return {read_npy(argument), false};
  if (in_lower_case.ends_with(".latent")) return read_comfyui(SafetensorsFile(argument));
  if (const std::optional<PathAndKey> parts = path_and_key(argument)) {
    const auto& [path, key] = *parts;
    if (key.empty() && path != argument)
      throw InputError(argument + ": expected a tensor's name after the colon");
    const std::string suffix = lower_case(std::filesystem::path(path).extension().string());
    if (suffix == ".pt" || suffix == ".pth") return {read_torch(path, key), false};
    return read_safetensors(path, key);
  }
  throw InputError(argument +
                   ": expected a latent in .npy, .safetensors, .pt, each of the latter two with :NAME where "
                   "it holds several tensors, or in ComfyUI's .latent");
}

Array read_latent(const std::string& argument) {
  return read_stored_latent(argument).array;
}

int64_t pipeline_channels(const Model& model) {
  if (!model.latent_patches) return model.latent_channels;
  return model.latent_channels * model.latent_patches->rows * model.latent_patches->columns;
}

Array with_batch_axis(const Model& model, Array latent) {
  const auto is_channels = [&](int64_t extent) {
    return extent == model.latent_channels || extent == pipeline_channels(model);
  };
  const std::vector<int64_t>& shape = latent.shape;
  const bool clip_alone =
      model.decodes_clips && shape.size() == 4 && is_channels(shape[0]) && !is_channels(shape[1]);
  if (shape.size() == 3 || clip_alone) latent.shape.insert(latent.shape.begin(), 1);
  return latent;
}

namespace {

std::string head_of(const std::filesystem::path& file, const Array& latent) {
  const std::string suffix = lower_case(file.extension().string());
  if (suffix == ".npy") return make_npy_header(latent.shape);
  const size_t bytes = latent.values.size() * sizeof(float);
  const auto tensor = [](const std::vector<int64_t>& shape, size_t begin, size_t end) {
    return nlohmann::ordered_json{{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  using Json = nlohmann::ordered_json;
  if (suffix == ".safetensors")
    return safetensors_head(Json{{"latent", tensor(latent.shape, 0, bytes)}}.dump());
  return safetensors_head(Json{{"latent_tensor", tensor(latent.shape, 0, bytes)},
                               {"latent_format_version_0", tensor({0}, bytes, bytes)}}
                              .dump());
}

}  // namespace

std::vector<std::string> latent_output_suffixes() {
  return {".npy", ".safetensors", ".latent"};
}

void check_latent_output(const std::filesystem::path& file) {
  const std::vector<std::string> known = latent_output_suffixes();
  if (std::find(known.begin(), known.end(), lower_case(file.extension().string())) != known.end()) return;
  throw InputError("-o " + printable(file.string()) + ": expected a latent in .npy, .safetensors or .latent");
}

void write_latent(const std::filesystem::path& file, const Array& latent) {
  check_latent_output(file);
  std::string bytes = head_of(file, latent);
  bytes.append(reinterpret_cast<const char*>(latent.values.data()), latent.values.size() * sizeof(float));
  write_file_whole(file, bytes);
}

namespace {

/// A shape as Python prints it.
std::string tuple_of(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "(" + text + ")";
}

bool is_channels(const Model& model, int64_t extent) {
  return extent == model.latent_channels || extent == pipeline_channels(model);
}

}  // namespace

std::string models_with_channels(int64_t channels) {
  std::string names;
  for (const std::string& name : built_in_models()) {
    const Model model = resolve_model(name);
    if (model.why_no_decoder.empty() && is_channels(model, channels))
      names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string packed_latent(const Model& model, const std::vector<int64_t>& shape) {
  constexpr int64_t kPatch = 4;            // latent positions in one 2×2 patch
  constexpr int64_t kLeastChannels = 16;   // pipelines with fewer channels do not pack
  constexpr int64_t kLeastUnpatched = 32;  // with fewer channels, pipelines pack patches
  if (shape.size() != 3 && shape.size() != 4) return "";
  const int64_t last = shape.back();
  if (model.latent_channels < kLeastChannels) return "";
  const bool unpatched = last >= kLeastUnpatched && is_channels(model, last);
  if (!unpatched && last != kPatch * model.latent_channels) return "";
  // A latent that is not packed has its channels along the first or second axis.
  if (is_channels(model, shape[0]) || (shape.size() == 4 && is_channels(model, shape[1]))) return "";
  if (shape.size() == 4 && shape[0] != 1 && shape[1] != 1) return "";
  const LatentPacking& packing = family_of(model.class_name).packing;
  const bool named = packing.channels == 0 || packing.channels == model.latent_channels;
  return "shape " + tuple_of(shape) + " is a packed " + (named ? packing.pipelines : "") +
         "latent. Unpack it first: " + packing.unpack;
}

void require_latent_of(const Model& model, const std::vector<int64_t>& shape) {
  const std::string packed = packed_latent(model, shape);
  if (!packed.empty()) throw InputError(packed);
  const std::string found = "shape " + tuple_of(shape);
  if (shape.size() < 4 || shape.size() > 5)
    throw InputError(found + " is no latent: expected N×C×H×W or N×C×T×H×W");
  if (is_channels(model, shape[1])) return;
  const std::string others = models_with_channels(shape[1]);
  throw InputError(found + " has " + std::to_string(shape[1]) + " channels" +
                   (others.empty() ? "" : " (" + others + ")") + "; " +
                   (model.name.empty() ? model.class_name : model.name) + " decodes " +
                   std::to_string(model.latent_channels));
}

}  // namespace headroom
