#include "decoder/weights/find_model.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/printable.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan_file.h"

namespace headroom {
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

}  // namespace headroom
