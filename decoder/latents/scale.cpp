#include "decoder/latents/scale.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/families/families.h"
#include "decoder/files/latent_file.h"
#include "decoder/latents/evidence.h"

namespace headroom {
namespace {

void require_each_channel(const Model& model, const char* key, const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) == model.latent_channels) return;
  throw InputError(model.config_file + ": " + key +
                   ": --latent-scale model needs one value for each of the " +
                   std::to_string(model.latent_channels) + " latent channels, found " +
                   (values.empty() ? "none" : std::to_string(values.size())));
}

void require_positive(const Model& model, const std::vector<double>& deviations) {
  for (size_t c = 0; c < deviations.size(); ++c) {
    if (deviations[c] > 0) continue;
    char found[32];
    std::snprintf(found, sizeof found, "%g", deviations[c]);
    throw InputError((model.latent_scale_in_weights ? "weights" : model.config_file) + ": latents_std[" +
                     std::to_string(c) + "]: --latent-scale model needs a number above 0, found " + found);
  }
}

double required(const Model& model, const char* key, const std::optional<double>& factor) {
  if (factor) return *factor;
  throw InputError(model.config_file + ": " + key + ": --latent-scale model needs one, found none");
}

void require_channels(const Array& latent, int64_t channels) {
  if (latent.shape.size() < 2 || latent.shape[1] != channels)
    throw InputError("latent: expected " + std::to_string(channels) +
                     " channels along its second axis, found shape " + printable(latent.shape));
}

std::vector<double> stored_values(const Model& model, const ParameterSource& weights, const char* name) {
  std::vector<float> values(static_cast<size_t>(model.latent_channels));
  weights({name, {model.latent_channels}}, {0, model.latent_channels}, values.data());
  return {values.begin(), values.end()};
}

/// The batch norm that pipelines apply to patches, undone by z * factor + offset.
LatentScaling batch_norm_scaling(const Model& model, const ParameterSource& weights, int64_t channels) {
  const double epsilon = required(model, "batch_norm_eps", model.latent_patches->epsilon);
  std::vector<float> mean(static_cast<size_t>(channels)), variance(mean);
  weights({"bn.running_mean", {channels}}, {0, channels}, mean.data());
  weights({"bn.running_var", {channels}}, {0, channels}, variance.data());
  LatentScaling scaling;
  for (size_t c = 0; c < mean.size(); ++c) {
    if (!(variance[c] >= 0))
      throw InputError("bn.running_var: expected at least 0, found " + std::to_string(variance[c]));
    scaling.factor.push_back(std::sqrt(double(variance[c]) + epsilon));
    scaling.offset.push_back(double(mean[c]));
  }
  return scaling;
}

/// Calls `pair` with the indices of each value in packed patches, in order, and among unpacked positions.
/// `height` and `width` count patches.
template <typename Pair>
void for_each_value(const LatentPatches& patches, int64_t planes, int64_t height, int64_t width,
                    const Pair& pair) {
  size_t packed = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t r = 0; r < patches.rows; ++r) {
      for (int64_t c = 0; c < patches.columns; ++c) {
        for (int64_t y = 0; y < height; ++y) {
          const int64_t row = (plane * height + y) * patches.rows + r;
          for (int64_t x = 0; x < width; ++x)
            pair(packed++, static_cast<size_t>((row * width + x) * patches.columns + c));
        }
      }
    }
  }
}

/// Unpacks patches: N×(C·rows·columns)×H×W becomes N×C×(H·rows)×(W·columns).
Array laid_out(const LatentPatches& patches, const Array& latent) {
  const int64_t items = latent.shape[0], channels = latent.shape[1] / (patches.rows * patches.columns);
  const int64_t height = latent.shape[2], width = latent.shape[3];
  Array out{{items, channels, height * patches.rows, width * patches.columns}, {}};
  out.values.resize(latent.values.size());
  for_each_value(patches, items * channels, height, width,
                 [&](size_t packed, size_t position) { out.values[position] = latent.values[packed]; });
  return out;
}

/// Packs patches: N×C×H×W becomes N×(C·rows·columns)×(H/rows)×(W/columns). Throws InputError if the latent
/// has no whole number of patches.
Array packed(const LatentPatches& patches, const Array& latent) {
  const int64_t items = latent.shape[0], channels = latent.shape[1];
  if (latent.shape[2] % patches.rows != 0 || latent.shape[3] % patches.columns != 0) {
    throw InputError("the latent has " + std::to_string(latent.shape[2]) + "x" +
                     std::to_string(latent.shape[3]) + " positions; pipelines pack patches of " +
                     std::to_string(patches.rows) + "x" + std::to_string(patches.columns) +
                     ": --latent-scale none");
  }
  const int64_t height = latent.shape[2] / patches.rows, width = latent.shape[3] / patches.columns;
  Array out{{items, channels * patches.rows * patches.columns, height, width}, {}};
  out.values.resize(latent.values.size());
  for_each_value(patches, items * channels, height, width,
                 [&](size_t packed, size_t position) { out.values[packed] = latent.values[position]; });
  return out;
}

/// Scaling of a model without latent patches. `weights` is called only if the scaling is stored with the
/// weights.
LatentScaling scaling_of(const Model& model, const std::function<ParameterSource()>& weights) {
  const auto channels = static_cast<size_t>(model.latent_channels);
  if (!model.scaled_by_channel && !model.latent_scale_in_weights) {
    return {std::vector<double>(channels, 1 / required(model, "scaling_factor", model.scaling_factor)),
            std::vector<double>(channels, required(model, "shift_factor", model.shift_factor))};
  }
  std::vector<double> mean = model.latents_mean, deviation = model.latents_std;
  if (model.latent_scale_in_weights) {
    const ParameterSource source = weights();
    mean = stored_values(model, source, "latents_mean");
    deviation = stored_values(model, source, "latents_std");
  }
  require_each_channel(model, "latents_mean", mean);
  require_each_channel(model, "latents_std", deviation);
  require_positive(model, deviation);
  const double factor = required(model, "scaling_factor", model.scaling_factor);
  for (double& value : deviation) value /= factor;
  return {deviation, mean};
}

/// Replaces each value by `scaled(value, factor, offset)` of its channel.
template <typename Scaled>
void scale_channels(const LatentScaling& scaling, Array& latent, const Scaled& scaled) {
  const size_t channels = scaling.factor.size();
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0]) / channels;
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const size_t c = i / plane % channels;
    latent.values[i] =
        static_cast<float>(scaled(double(latent.values[i]), scaling.factor[c], scaling.offset[c]));
  }
}

void apply(const LatentScaling& scaling, Array& latent) {
  scale_channels(scaling, latent,
                 [](double value, double factor, double offset) { return (value - offset) / factor; });
}

void undo(const LatentScaling& scaling, Array& latent) {
  scale_channels(scaling, latent,
                 [](double value, double factor, double offset) { return value * factor + offset; });
}

/// Formats a number with three digits, such as "0.13".
std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// For models whose pipelines output scaled latents. `asked` is the value of --latent-scale.
AskedScale taken(const std::string& asked, const LatentScaling& scaling, const Array& latent) {
  const LatentEvidence evidence = latent_evidence(scaling, latent);
  const bool of_pipeline = evidence.kind == LatentKind::of_pipeline,
             input = evidence.kind == LatentKind::decoder_input;
  const std::string found = "standard deviation " + figure(evidence.standard_deviation);
  const std::string input_has = figure(scaling.input_deviation());
  if (asked == "model") {
    return {true, input ? "warning: this latent looks unscaled already (" + found +
                              "; pipelines' latents have about 1). The picture may be wrong. Try "
                              "--latent-scale none"
                        : ""};
  }
  if (asked == "none") {
    return {false, of_pipeline
                       ? "warning: this latent looks scaled (" + found + "; the decoder expects about " +
                             input_has + "). The picture will be wrong without --latent-scale model"
                       : ""};
  }
  if (of_pipeline) return {true, "latent: scaled, as pipelines output it (" + found + "); scaling undone"};
  if (input) return {false, "latent: already unscaled (" + found + "); decoded as it is"};
  if (evidence.pipeline_is_likelier) {
    return {true, "latent: decoded as a pipeline's, scaling undone (" + found +
                      "). Pass --latent-scale none if it is unscaled"};
  }
  return {true, "warning: cannot tell whether this latent is scaled: " + found +
                    "; scaled latents have about 1, unscaled ones about " + input_has +
                    ". Decoded as a scaled one. If the picture looks wrong, pass --latent-scale none"};
}

/// Like taken(), for models whose pipelines undo the scaling themselves and output the decoder's input.
AskedScale taken_unscaled(const std::string& asked, const LatentScaling& scaling, const Array& latent) {
  const auto [deviation, kind, likelier] = latent_evidence(scaling, latent);
  const bool normalised = kind == LatentKind::of_pipeline;
  const std::string found = "standard deviation " + figure(deviation);
  if (asked == "model") {
    return {true, normalised ? ""
                             : "warning: this model's pipelines output unscaled latents (" + found +
                                   "). The picture may be wrong. Try --latent-scale none"};
  }
  if (asked == "none") {
    return {false, normalised ? "warning: this latent looks normalised (" + found +
                                    "; this model's pipelines output other ones). The picture will be "
                                    "wrong without --latent-scale model"
                              : ""};
  }
  if (normalised) return {true, "latent: normalised (" + found + "); scaling undone"};
  return {false, "latent: unscaled, as this model's pipelines output it (" + found + "); decoded as it is"};
}

/// Returns the scaling. Throws InputError if the model lacks it and the latent has to be unscaled. Otherwise
/// only a note depends on it, and the result is nullopt.
std::optional<LatentScaling> known_scaling(const Model& model,
                                           const std::function<ParameterSource()>& weights,
                                           const std::string& asked) {
  try {
    return scaling_of(model, weights);
  } catch (const InputError& error) {
    if (asked == "model") throw;
    if (asked == "auto" && !model.handed_on_unscaled)
      throw InputError(std::string(error.what()) + ". Pass --latent-scale none if the latent is unscaled");
    return std::nullopt;
  }
}

/// True for a pipeline's latent of a model with patches, such as FLUX.2. The number of channels decides: it
/// differs from that of the decoder's input.
bool is_in_patches(const Model& model, const Array& latent) {
  return model.latent_patches && latent.shape[1] == pipeline_channels(model);
}

std::string take_patches(const Model& model, const std::function<ParameterSource()>& weights,
                         const std::string& asked, Array& latent) {
  const std::string found = "a latent of " + std::to_string(latent.shape[1]) + " channels";
  if (asked == "model" || (asked == "auto" && is_in_patches(model, latent))) {
    undo_latent_scale(model, weights, latent);
    return asked == "model" ? "" : found + " taken as a pipeline's: its batch norm and patches are undone";
  }
  if (is_in_patches(model, latent)) {
    throw InputError(found + " is a pipeline's, in patches; the decoder takes " +
                     std::to_string(model.latent_channels) + ": --latent-scale model");
  }
  return "";
}

/// ComfyUI undoes the scaling of its samplers' latents before it saves them. The exception is a scaling that
/// is stored with the weights: ComfyUI's VAE undoes that one while decoding.
std::string take_comfyui(const Model& model, const std::function<ParameterSource()>& weights, Array& latent) {
  if (model.latent_scale_in_weights || is_in_patches(model, latent)) {
    undo_latent_scale(model, weights, latent);
    return "ComfyUI's latent: scaled, as this model's pipelines output it; scaling undone";
  }
  if (family_of(model.class_name).takes_scaled_latents) {
    throw InputError("ComfyUI's latent is unscaled, and " + model.class_name +
                     " takes scaled ones: multiply it by the scaling_factor of the full VAE, and give "
                     "--latent-scale none");
  }
  return "ComfyUI's latent: already unscaled; decoded as it is";
}

/// Scales the latent according to `asked`. Returns a note to the user.
std::string take(const Model& model, const std::function<ParameterSource()>& weights,
                 const std::string& asked, Array& latent) {
  if (model.latent_patches) return take_patches(model, weights, asked, latent);
  const AskedScale how = asked_scale(model, weights, asked, latent);
  if (how.undo) undo_latent_scale(model, weights, latent);
  return how.note;
}

}  // namespace

void undo_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent) {
  require_channels(latent, pipeline_channels(model));
  if (!model.latent_patches) return undo(scaling_of(model, weights), latent);
  if (latent.shape.size() != 4) throw InputError("latent: expected N×C×H×W");
  undo(batch_norm_scaling(model, weights(), latent.shape[1]), latent);
  latent = laid_out(*model.latent_patches, latent);
}

AskedScale asked_scale(const Model& model, const std::function<ParameterSource()>& weights,
                       const std::string& asked, const Array& latent) {
  const std::optional<LatentScaling> scaling = known_scaling(model, weights, asked);
  if (!scaling || scaling->changes_nothing()) return {};
  return model.handed_on_unscaled ? taken_unscaled(asked, *scaling, latent) : taken(asked, *scaling, latent);
}

void apply_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent) {
  if (!model.latent_patches) return apply(scaling_of(model, weights), latent);
  latent = packed(*model.latent_patches, latent);
  apply(batch_norm_scaling(model, weights(), latent.shape[1]), latent);
}

GivenLatent open_latent(const Model& model, const std::function<ParameterSource()>& weights,
                        const std::string& argument, const std::string& asked) {
  require_decoder(model);
  StoredLatent stored = read_stored_latent(argument);
  GivenLatent given;
  try {
    const std::string packed = packed_latent(model, stored.array.shape);
    if (!packed.empty()) throw InputError(packed);
    given.array = with_batch_axis(model, std::move(stored.array));
    require_latent_of(model, given.array.shape);
    given.note = stored.from_comfyui && asked == "auto" ? take_comfyui(model, weights, given.array)
                                                        : take(model, weights, asked, given.array);
  } catch (const InputError& error) {
    throw InputError(printable(argument) + ": " + error.what());
  }
  return given;
}

}  // namespace headroom
