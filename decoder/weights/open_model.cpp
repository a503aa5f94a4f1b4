#include "decoder/weights/open_model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "decoder/files/safetensors.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/plan_file.h"
#include "decoder/weights/random_weights.h"
#include "decoder/weights/weight_files.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestConfigBeside = 16 << 20;

/// Model of the config.json beside a checkpoint, if that is a decoder's. Download folders may hold any other
/// config.json.
std::optional<Model> model_beside(const fs::path& checkpoint) {
  const fs::path config = checkpoint.parent_path() / "config.json";
  if (!is_file_at(config)) return std::nullopt;
  const nlohmann::json document = read_json_file(config, kLargestConfigBeside);
  if (!document.is_object() || !document.contains("_class_name")) return std::nullopt;
  const nlohmann::json& class_name = document["_class_name"];
  if (!class_name.is_string()) return std::nullopt;
  if (family_of(class_name.get<std::string>()).build == nullptr) return std::nullopt;
  return load_model(config);
}

/// True if the checkpoint has every parameter of the model's decoder, in its shape, and no post_quant_conv
/// that the decoder would leave out.
bool fits(const Model& model, const WeightFiles& checkpoint) {
  constexpr const char* kPostQuant = "post_quant_conv.weight";
  bool asks_post_quant = false;
  for (const Op& op : model.graph.ops()) {
    for (const Parameter& parameter : parameters_of(model.graph, op)) {
      asks_post_quant |= parameter.name == kPostQuant;
      if (!checkpoint.contains(parameter.name) ||
          !is_stored_shape(parameter, checkpoint.find(parameter.name).shape))
        return false;
    }
  }
  return asks_post_quant || !checkpoint.contains(kPostQuant);
}

/// Finds the model of a pipeline's checkpoint by a module outside the decoder that no other pipeline has.
std::optional<std::string> pipeline_of(const std::vector<std::string>& tensors) {
  for (const Family& family : families()) {
    for (const BuiltIn& model : family.built_ins) {
      const std::string_view module = model.pipeline_module;
      if (!module.empty() && std::any_of(tensors.begin(), tensors.end(), [&](const std::string& tensor) {
            return tensor.starts_with(module);
          }))
        return std::string(model.name);
    }
  }
  return std::nullopt;
}

bool is_named_as_file(const std::string& argument) {
  const std::string suffix = lower_case(fs::path(argument).extension().string());
  constexpr std::string_view kSuffixes[] = {".safetensors", ".sft", ".ckpt", ".pt", ".pth", ".bin", ".gguf"};
  return std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) != std::end(kSuffixes);
}

std::string joined_by_or(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

Model model_of_checkpoint(const std::string& file) {
  if (std::optional<Model> model = model_beside(file)) return *std::move(model);
  const WeightFiles checkpoint(file);
  std::vector<std::string> fitting;
  for (const std::string& name : built_in_models()) {
    if (fits(resolve_model(name), checkpoint)) fitting.push_back(name);
  }
  if (fitting.size() == 1) return resolve_model(fitting.front());
  if (fitting.empty() && !checkpoint.has_decoder())
    throw InputError("--model " + printable(file) + ": " + kNoDecoder);
  if (fitting.empty()) {
    const bool another = is_there(fs::path(file).parent_path() / "config.json");
    throw InputError("--model " + printable(file) +
                     ": no built-in model has a decoder of these tensors: put diffusers' config.json beside "
                     "the file" +
                     (another ? " (the one there is for an unsupported decoder)" : "") +
                     ", or give --model FOLDER --weights FILE");
  }
  const std::optional<std::string> pipeline = pipeline_of(SafetensorsFile(file).names());
  if (pipeline && std::find(fitting.begin(), fitting.end(), *pipeline) != fitting.end())
    return resolve_model(*pipeline);
  throw InputError("--model " + printable(file) + ": " + joined_by_or(fitting) +
                   " have these tensors alike: say which (--model " + fitting.front() + " --weights " +
                   printable(file) + "), or put its config.json beside the file");
}

}  // namespace

Model open_model(const std::string& argument) {
  // A built-in name takes precedence over a file or folder of that name. "./sdxl" selects the file.
  if (built_in_config(argument) != nullptr) return resolve_model(argument);
  if (is_file_at(argument)) return model_of_checkpoint(argument);
  if (is_named_as_file(argument) && !is_there(argument))
    throw InputError("--model " + printable(argument) + ": no such file");
  return resolve_model(argument);
}

namespace {

constexpr int kFoldersAbove = 6;

bool is_model(const std::filesystem::path& folder) {
  if (folder.extension() == ".safetensors" && is_file_at(folder)) return true;
  return is_file_at(model_folder(folder) / "config.json");
}

}  // namespace

std::string find_model(const std::string& name, const std::filesystem::path& file) {
  if (built_in_config(name) != nullptr) return name;
  if (!name.empty()) {
    if (is_model(name)) return name;
    std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    for (int above = 0; above <= kFoldersAbove; ++above) {
      if (is_model(folder / name)) return (folder / name).string();
      folder = folder.parent_path();
    }
  }
  throw ModelOfPlan(file.string() + ": its model \"" + printable(name) +
                        "\" is neither in this folder nor in the file's or one above it: name the model's "
                        "folder with --model DIR",
                    name);
}

ParameterSource open_weights(const std::string& model, const std::string& weights,
                             std::optional<uint64_t> random_seed) {
  if (random_seed) {
    return [seed = *random_seed](const Parameter& parameter, const Interval& elements, float* out) {
      fill_random(parameter, seed, elements, out);
    };
  }
  if (weights.empty() && !is_there(model)) {
    throw InputError("--model " + model +
                     " has no weights of its own: give --weights DIR or --random-weights SEED");
  }
  auto files = std::make_shared<WeightFiles>(model_folder(weights.empty() ? model : weights));
  return [files](const Parameter& parameter, const Interval& elements, float* out) {
    files->read(parameter, elements, out);
  };
}

}  // namespace headroom
