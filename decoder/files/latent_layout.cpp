#include "decoder/files/latent_layout.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"

namespace headroom {
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

/// "sd15, sdxl"
std::string models_with(int64_t channels) {
  std::string names;
  for (const std::string& name : built_in_models()) {
    if (is_channels(resolve_model(name), channels)) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace

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
  const std::string others = models_with(shape[1]);
  throw InputError(found + " has " + std::to_string(shape[1]) + " channels" +
                   (others.empty() ? "" : " (" + others + ")") + "; " +
                   (model.name.empty() ? model.class_name : model.name) + " decodes " +
                   std::to_string(model.latent_channels));
}

}  // namespace headroom
