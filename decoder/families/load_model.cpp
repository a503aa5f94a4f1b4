#include "decoder/families/load_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "decoder/base/json_fields.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"

namespace headroom {
namespace {

constexpr int64_t kMostConfigBytes = 16 << 20;

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
  if (family.encoder != nullptr) {
    model.encoder = [config, origin, make = family.encoder] { return make(JsonFields(config, origin)); };
  }
  return model;
}

/// True for the id of a repository on the Hugging Face hub: "org/name".
bool is_hub_id(const std::string& argument) {
  static const std::regex id("[A-Za-z0-9][\\w.-]*/[A-Za-z0-9][\\w.-]*");
  return std::regex_match(argument, id) && std::filesystem::path(argument).extension() != ".safetensors";
}

InputError no_model(const std::string& argument) {
  const std::string meant = nearest_built_in(argument);
  if (is_hub_id(argument)) {
    const std::string folder = argument.substr(argument.find('/') + 1);
    return InputError("--model " + argument + ": no such folder. Headroom downloads nothing: hf download " +
                      argument + " --include \"vae/*\" --local-dir " + folder + ", then --model " + folder +
                      (meant.empty() ? "" : ". To plan without weights: --model " + meant));
  }
  const std::string built_in =
      meant.empty() ? "one of " + joined(built_in_models()) : "a built-in name (headroom-plan models)";
  return InputError("--model " + argument + ": " + (meant.empty() ? "" : "did you mean " + meant + "? ") +
                    "expected a folder with config.json, a .safetensors checkpoint, or " + built_in);
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
  // Other spellings of a built-in name count only if no file or folder has that name.
  const std::string name = is_there(argument) ? argument : built_in_named(argument);
  if (const std::string* config = built_in_config(name)) {
    Model model = parse_model(*config, name);
    model.name = name;
    return model;
  }
  if (!is_folder_at(argument)) throw no_model(argument);
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

}  // namespace headroom
