#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/open_model.h"
#include "planner/program/commands.h"

namespace headroom::planner {
namespace {

std::vector<Model> all_built_in() {
  std::vector<Model> models;
  for (const std::string& name : built_in_models()) models.push_back(resolve_model(name));
  return models;
}

/// Config of a built-in model. Null for a model folder, which has its own config file.
nlohmann::json config_of(const Model& model) {
  const std::string* built_in = built_in_config(model.config_file);
  return built_in != nullptr ? nlohmann::json::parse(*built_in) : nlohmann::json();
}

/// Other models that have a built-in model's decoder. Empty for a model folder.
std::vector<std::string> also_of(const Model& model) {
  return built_in_config(model.config_file) != nullptr ? other_names_of(model.config_file)
                                                       : std::vector<std::string>{};
}

/// "49.5 M"
std::string millions(int64_t count) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << double(count) / 1e6 << " M";
  return text.str();
}

nlohmann::json models_document(const std::vector<Model>& models) {
  nlohmann::json list = nlohmann::json::array();
  for (const Model& model : models) {
    list.push_back({{"name", model.name},
                    {"class", model.class_name},
                    {"in_diffusers", family_of(model.class_name).in_diffusers},
                    {"video", model.decodes_clips},
                    {"latent_channels", model.latent_channels},
                    {"spatial_factor", picture_scale(model.graph).y},
                    {"time_factor", picture_scale(model.graph).t},
                    {"parameters", parameter_elements(model.graph)},
                    {"also", also_of(model)},
                    {"config", config_of(model)}});
  }
  return list;
}

void print_models(const std::vector<Model>& models, std::ostream& out) {
  int name_width = 6, class_width = 7;  // a heading and two spaces
  for (const Model& model : models) {
    name_width = std::max(name_width, static_cast<int>(model.name.size()) + 2);
    class_width = std::max(class_width, static_cast<int>(model.class_name.size()) + 2);
  }
  const auto row = [&](const std::string& name, const std::string& class_name, const std::string& kind,
                       const std::string& channels, const std::string& spatial, const std::string& time,
                       const std::string& parameters) {
    out << std::left << std::setw(name_width) << name << std::setw(class_width) << class_name << std::setw(9)
        << kind << std::right << std::setw(15) << channels << std::setw(16) << spatial << std::setw(13)
        << time << std::setw(12) << parameters << "\n";
  };
  row("name", "class", "decodes", "latent channels", "spatial factor", "time factor", "parameters");
  for (const Model& model : models) {
    const char* decodes = !model.why_no_decoder.empty() ? "nothing"
                          : model.decodes_clips         ? "video"
                                                        : "picture";
    row(model.name, model.class_name, decodes, std::to_string(model.latent_channels),
        std::to_string(picture_scale(model.graph).y),
        model.decodes_clips ? std::to_string(picture_scale(model.graph).t) : "-",
        millions(parameter_elements(model.graph)));
  }
}

}  // namespace

int models_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& /*err*/) {
  CLI::App app(
      "List the built-in decoder configurations, the names that --model takes, or look at one model.\n"
      "A picture is the spatial factor times as high and wide as its latent. A clip has 1 + (T - 1) x time "
      "factor\n"
      "frames for T latent frames. Parameters are those of the decoder. --json also lists other models that\n"
      "have the same decoder; --model takes their names, in any case.\n\n"
      "Example:\n"
      "  headroom-plan models\n"
      "  headroom-plan models vae/",
      "headroom-plan models");
  std::string model;
  bool json = false;
  app.add_option("model", model, kModelHelp);
  app.add_flag("--json", json, "print JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  const std::vector<Model> models = model.empty() ? all_built_in() : std::vector{open_model(model)};
  if (json) {
    out << models_document(models).dump(2) << "\n";
  } else {
    print_models(models, out);
  }
  return kDone;
}

}  // namespace headroom::planner
