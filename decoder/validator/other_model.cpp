#include "decoder/validator/other_model.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// The parts of a path that identify a model: without a pipeline's VAE folder, and without "..".
std::vector<std::string> model_path(const std::string& name) {
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(name).lexically_normal()) {
    const std::string text = part.string();
    if (text != "." && text != ".." && text != "/" && !text.empty()) parts.push_back(text);
  }
  const auto drop_last = [&](auto matches) {
    if (parts.size() > 1 && matches(fs::path(parts.back()))) parts.pop_back();
  };
  drop_last([](const fs::path& last) { return last == "config.json" || last.extension() == ".safetensors"; });
  drop_last([](const fs::path& last) { return last == "vae"; });
  return parts;
}

}  // namespace

bool names_other_model(const std::string& planned, const Model& given) {
  if (planned == given.name) return false;
  std::vector<std::string> a = model_path(planned), b = model_path(given.config_file);
  if (a.size() > b.size()) std::swap(a, b);
  return !std::equal(a.rbegin(), a.rend(), b.rbegin());
}

std::string argument_of(const Model& model) {
  const fs::path config(model.config_file);
  return config.filename() == "config.json" && config.has_parent_path() ? config.parent_path().string()
                                                                        : model.config_file;
}

}  // namespace headroom
