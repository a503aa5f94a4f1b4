#include "decoder/graph/model.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/graph/geometry.h"

namespace headroom {
namespace {

constexpr int64_t kMostPixels = 1 << 20;
constexpr int64_t kMostFrames = 1'000'000;

}  // namespace

const char* name_of(Direction direction) {
  return encodes(direction) ? "encode" : "decode";
}

Direction direction_of(const Graph& graph) {
  return graph.encodes() ? Direction::encode : Direction::decode;
}

Direction parse_direction(const std::string& text) {
  for (const Direction direction : kDirections) {
    if (text == name_of(direction)) return direction;
  }
  throw InputError("--direction: expected decode or encode, found '" + text + "'");
}

void require_decoder(const Model& model) {
  if (!model.encoder || !model.graph.encodes()) return;
  throw InputError(model.config_file + ": " + model.why_no_decoder);
}

Model for_direction(Model model, Direction direction) {
  if (!encodes(direction)) {
    require_decoder(model);
    return model;
  }
  if (!model.encoder)
    throw InputError(model.config_file + ": Headroom does not encode with " + model.class_name);
  model.graph = model.encoder();
  model.encoder = nullptr;
  return model;
}

Model for_frames(Model model, int64_t frames) {
  require_decoder(model);
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

}  // namespace

std::string wrong_pixels(const Model& model, int64_t width_pixels, int64_t height_pixels) {
  const Axes<int32_t>& scale = picture_scale(model.graph);
  const std::string wrong =
      joined({wrong_length("width", width_pixels, scale.x), wrong_length("height", height_pixels, scale.y)},
             " and ");
  return wrong.empty() ? wrong : "expected " + wrong;
}

std::string wrong_frames(const Model& model, int64_t frames) {
  const std::string found = ", found " + std::to_string(frames);
  if (!model.decodes_clips)
    return frames == 1 ? "" : model.class_name + " decodes single pictures; expected 1" + found;
  const int64_t most = model.encoded_clips ? model.encoded_clips->part_frames : kMostFrames;
  if (frames < 1 || frames > most)
    return "expected from 1 to " + std::to_string(most) +
           (model.encoded_clips
                ? ", since " + model.class_name + " encodes parts of so many frames independently"
                : "") +
           found;
  const int64_t latent_step = model.latent_frame_step, step = latent_step * picture_scale(model.graph).t;
  const int64_t later = (frames - 1) / step, rest = (frames - 1) % step;
  if (rest == 0) return "";
  const int64_t nearest = (later + (2 * rest > step ? 1 : 0)) * step + 1;
  const std::string latents =
      latent_step > 1 ? ". A latent has 1 plus a multiple of " + std::to_string(latent_step) + " frames" : "";
  return "expected 1 plus a multiple of " + std::to_string(step) + found + "; the nearest is " +
         std::to_string(nearest) + latents;
}

Extent latent_extent(const Model& model, int64_t width_pixels, int64_t height_pixels, int64_t frames) {
  const std::string wrong_size = wrong_pixels(model, width_pixels, height_pixels);
  if (!wrong_size.empty()) throw InputError("--size: " + wrong_size);
  const std::string wrong_number = wrong_frames(model, frames);
  if (!wrong_number.empty()) throw InputError("--frames: " + wrong_number);
  return latent_at(picture_scale(model.graph), {frames, height_pixels, width_pixels});
}

std::vector<int64_t> input_shape(const Model& model, const Extent& extent, int64_t batch) {
  const Tensor& input = model.graph.tensor(model.graph.input());
  const Extent positions = extent_of(input, extent);
  std::vector<int64_t> shape{batch, input.channels, positions.y, positions.x};
  if (positions.t > 1) shape.insert(shape.begin() + 2, positions.t);
  return shape;
}

}  // namespace headroom
