#include "decoder/graph/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/graph/built_in_models.h"
#include "decoder/graph/families/families.h"
#include "decoder/graph/json_fields.h"
#include "decoder/graph/nearest.h"
#include "decoder/graph/system_failure.h"

namespace headroom {
namespace {

constexpr int64_t kMostConfigBytes = 16 << 20;
constexpr int64_t kMostPixels = 1 << 20;
constexpr int64_t kMostFrames = 1'000'000;

/// Joins the nonempty words.
std::string joined(const std::vector<std::string>& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() || word.empty() ? "" : separator) + word;
  return text;
}

std::string folder_name(const std::filesystem::path& folder) {
  return std::filesystem::absolute(folder / "config.json")
      .lexically_normal()
      .parent_path()
      .filename()
      .string();
}

Model build(const nlohmann::json& config, const std::string& origin) {
  const JsonFields fields(config, origin);
  if (!config.is_object()) fields.fail("expected an object");
  const std::string class_name = fields["_class_name"].text();
  const Family& family = family_of(class_name);
  if (family.build == nullptr) {
    fields["_class_name"].fail("'" + class_name + "' is not supported; expected " +
                               joined(supported_classes()));
  }
  Model model = family.build(fields);
  model.class_name = class_name;
  model.config_file = origin;
  return model;
}

}  // namespace

std::vector<std::string> supported_classes() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.class_name);
  return names;
}

Model parse_model(const std::string& config_text, const std::string& origin) {
  return build(parse_json(config_text, origin), origin);
}

Model load_model(const std::filesystem::path& config_file) {
  Model model = build(read_json_file(config_file, kMostConfigBytes), config_file.string());
  model.name = folder_name(config_file.parent_path());
  return model;
}

std::filesystem::path model_folder(const std::filesystem::path& folder) {
  const auto has = [&](const char* file) { return is_file_at(folder / file); };
  // Folders assembled by hand or partially downloaded have no model_index.json.
  const bool pipeline = has("model_index.json") || (!has("config.json") && has("vae/config.json"));
  return pipeline ? folder / "vae" : folder;
}

Model resolve_model(const std::string& argument) {
  // Built-in names are case-insensitive, unless a folder has the exact name.
  const std::string name = is_there(argument) ? argument : lower_case(argument);
  if (const std::string* config = built_in_config(name)) {
    Model model = parse_model(*config, name);
    model.name = name;
    return model;
  }
  if (!is_folder_at(argument)) {
    const std::string meant = nearest_built_in(argument);
    throw InputError("--model " + argument + ": " + (meant.empty() ? "" : "did you mean " + meant + "? ") +
                     "expected a folder with config.json, a .safetensors checkpoint, or one of " +
                     joined(built_in_models()));
  }
  const std::filesystem::path config = model_folder(argument) / "config.json";
  if (!is_file_at(config)) {
    throw InputError("--model " + argument + ": has no config.json nor vae/config.json (" + config.string() +
                     ": no such file): expected a VAE's or a pipeline's folder, as diffusers' "
                     "save_pretrained() writes it, or a .safetensors file");
  }
  Model model = load_model(config);
  model.name = folder_name(argument);  // the pipeline's name, because every pipeline's VAE folder is named
                                       // vae
  return model;
}

Model for_frames(Model model, int64_t frames) {
  if (frames != 1 || !model.decodes_clips) return model;
  model.graph = model.graph.of_one_frame();
  model.decodes_clips = false;
  return model;
}

Dtype decoding_dtype(const Model& model, Dtype asked) {
  return asked == Dtype::fp16 && model.force_upcast ? Dtype::fp32 : asked;
}

std::string upcast_note(const Model& model, Dtype asked) {
  const Dtype taken = decoding_dtype(model, asked);
  if (taken == asked) return "";
  return std::string("--dtype ") + name_of(asked) + ": decodes in " + name_of(taken) + ", since " +
         model.config_file + " has force_upcast (bf16 is half as large, too)";
}

namespace {

/// Returns an error with the nearest valid lengths if this length is invalid, otherwise an empty text.
std::string wrong_length(const std::string& what, int64_t pixels, int64_t factor) {
  if (pixels >= 1 && pixels <= kMostPixels && pixels % factor == 0) return "";
  const bool too_long = pixels > kMostPixels;
  const int64_t below = std::clamp(pixels, int64_t{0}, kMostPixels) / factor * factor;
  const int64_t above = below + factor;
  std::string use = std::to_string(below == 0 ? above : below);
  if (below > 0 && above <= kMostPixels) use += " or " + std::to_string(above);
  return "a " + what + " that is a multiple of " + std::to_string(factor) +
         (too_long ? " up to " + std::to_string(kMostPixels) : "") + ", found " + std::to_string(pixels) +
         " (use " + use + ")";
}

int64_t latent_frames(const Model& model, int64_t frames) {
  if (!model.decodes_clips && frames != 1) {
    throw InputError("--frames: " + model.class_name + " decodes single pictures; expected 1, found " +
                     std::to_string(frames));
  }
  if (frames < 1 || frames > kMostFrames) {
    throw InputError("--frames: expected from 1 to " + std::to_string(kMostFrames) + ", found " +
                     std::to_string(frames));
  }
  const int64_t scale = model.graph.tensor(model.graph.output()).scale.t;
  const int64_t later = (frames - 1) / scale, rest = (frames - 1) % scale;
  if (rest != 0) {
    const int64_t nearest = (later + (2 * rest > scale ? 1 : 0)) * scale + 1;
    throw InputError("--frames: expected 1 and a multiple of " + std::to_string(scale) + ", found " +
                     std::to_string(frames) + "; the nearest is " + std::to_string(nearest));
  }
  return later + 1;
}

}  // namespace

Extent latent_extent(const Model& model, int64_t width_pixels, int64_t height_pixels, int64_t frames) {
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  const std::string wrong =
      joined({wrong_length("width", width_pixels, scale.x), wrong_length("height", height_pixels, scale.y)},
             " and ");
  if (!wrong.empty()) throw InputError("--size: expected " + wrong);
  return {latent_frames(model, frames), height_pixels / scale.y, width_pixels / scale.x};
}

std::vector<int64_t> latent_shape(const Model& model, const Extent& extent, int64_t batch) {
  std::vector<int64_t> shape{batch, model.latent_channels, extent.y, extent.x};
  if (extent.t > 1) shape.insert(shape.begin() + 2, extent.t);
  return shape;
}

}  // namespace headroom
