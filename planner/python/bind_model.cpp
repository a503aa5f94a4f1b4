#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "decoder/families/tensor_names.h"
#include "decoder/files/latent_file.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/stream_frames.h"
#include "decoder/weights/open_model.h"
#include "planner/python/bindings.h"

namespace headroom::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

std::vector<std::string> parameter_names(const Model& model) {
  std::vector<std::string> names;
  for (const Op& op : model.graph.ops()) {
    for (Parameter& parameter : parameters_of(model.graph, op)) names.push_back(std::move(parameter.name));
  }
  // Operations that share a kernel repeat its name.
  std::set<std::string> seen;
  std::erase_if(names, [&](const std::string& name) { return !seen.insert(name).second; });
  return names;
}

/// The numbers that norms and other divisions of the graph add, each once.
std::set<double> epsilons(const Model& model) {
  std::set<double> found;
  for (const Op& op : model.graph.ops())
    if (op.epsilon > 0) found.insert(op.epsilon);
  return found;
}

std::vector<std::string> read_names(const Model& model, const std::vector<std::string>& stored) {
  const TensorNames names(stored);
  std::vector<std::string> read;
  for (const std::string& parameter : parameter_names(model)) {
    if (std::optional<std::string> name = names.find(parameter)) read.push_back(*std::move(name));
  }
  return read;
}

/// Stored names of the kernels with a stride: the stride, and whether the module around the convolution pads.
std::map<std::string, std::pair<std::tuple<int32_t, int32_t, int32_t>, bool>> strided(
    const Model& model, const std::vector<std::string>& stored) {
  const TensorNames names(stored);
  std::map<std::string, std::pair<std::tuple<int32_t, int32_t, int32_t>, bool>> found;
  for (const Op& op : model.graph.ops()) {
    if (op.kind != OpKind::conv || op.stride == Axes<int32_t>{1, 1, 1}) continue;
    const bool padded_outside = op.convolution.begins_at_own || op.convolution.keeps_first_frame;
    if (const auto name = names.find(op.name + ".weight"))
      found[*name] = {{op.stride.t, op.stride.y, op.stride.x}, padded_outside};
  }
  return found;
}

/// Shape of the output, (batch, channels, frames, rows, columns), and size of the picture, (batch, frames,
/// rows, columns), for a picture of this shape.
std::pair<std::vector<int64_t>, std::vector<int64_t>> encoded_shape_of(const Model& model,
                                                                       const std::vector<int64_t>& picture) {
  const Tensor& input = model.graph.tensor(model.graph.input());
  if ((picture.size() != 4 && picture.size() != 5) || picture[1] != input.channels) {
    std::string found;
    for (int64_t length : picture) found += (found.empty() ? "" : "×") + std::to_string(length);
    throw InputError("picture: expected N×" + std::to_string(input.channels) +
                     (model.decodes_clips ? "×T" : "") + "×H×W, found " +
                     (found.empty() ? "no axes" : found));
  }
  const auto [frames, rows, columns] = extent_of_array(picture);
  const Extent latent = latent_extent(model, columns, rows, frames);
  const Tensor& output = model.graph.tensor(model.graph.output());
  const Extent extent = extent_of(output, latent);
  return {{picture[0], output.channels, extent.t, extent.y, extent.x}, {picture[0], frames, rows, columns}};
}

/// Shape of the decoded picture, (batch, channels, frames, rows, columns), for a latent of this shape.
std::vector<int64_t> picture_shape_of(const Model& model, const std::vector<int64_t>& latent) {
  const std::string expected = "latent: expected N×" + std::to_string(model.latent_channels) +
                               (model.decodes_clips ? "×T" : "") + "×H×W";
  if ((latent.size() != 4 && latent.size() != 5) || latent[1] != model.latent_channels) {
    const std::string packed = packed_latent(model, latent);
    if (!packed.empty()) throw InputError("latent: " + packed);
    std::string found;
    for (int64_t length : latent) found += (found.empty() ? "" : "×") + std::to_string(length);
    throw InputError(expected + ", found " + (found.empty() ? "no axes" : found));
  }
  for (int64_t length : latent) {
    if (length < 1 || length > (int64_t{1} << 24))
      throw InputError(expected + ", found an extent of " + std::to_string(length));
  }
  const Tensor& output = model.graph.tensor(model.graph.output());
  const Extent extent = extent_of(output, extent_of_array(latent));
  return {latent[0], output.channels, extent.t, extent.y, extent.x};
}

std::optional<std::tuple<int64_t, int64_t, double>> latent_patches_of(const Model& model) {
  if (!model.latent_patches) return {};
  const LatentPatches& patches = *model.latent_patches;
  if (!patches.epsilon)
    throw InputError(model.config_file + ": batch_norm_eps: expected a number, found null");
  return std::tuple(patches.rows, patches.columns, *patches.epsilon);
}

std::optional<std::pair<int64_t, int64_t>> encoded_clips_of(const Model& model) {
  if (!model.encoded_clips) return {};
  return std::pair(model.encoded_clips->part_frames, model.encoded_clips->dropped_latent_frames);
}

void bind_families(nb::module_& module) {
  module.def("built_in_models", &built_in_models);
  module.def("models_with_channels", &models_with_channels, "channels"_a);
  module.def(
      "built_in_config",
      [](const std::string& name) {
        const std::string* config = built_in_config(name);
        return config != nullptr ? std::optional(*config) : std::nullopt;
      },
      "name"_a, "The config of a built-in model as JSON. None if no model has this name.");
  module.def("supported_classes", &supported_classes);
  module.def(
      "class_of_original_names",
      [](const std::string& key) {
        for (const Family& family : families())
          if (family.original_names.key == key) return std::string(family.class_name);
        throw InputError("original names: no family has " + key);
      },
      "key"_a, "The class whose original checkpoints have names with this key, such as wan.");
  module.def(
      "original_names",
      [](const std::vector<std::string>& stored) -> std::optional<std::pair<std::string, std::string>> {
        const TensorNames names(stored);
        if (names.original() == nullptr) return {};
        return std::pair(std::string(names.original()->key), names.prefix());
      },
      "stored"_a,
      "The key of the first family whose original checkpoints have a decoder of such names, and what "
      "precedes the names. None for others.");
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<Model>(module, "Model", "A decoder's layer graph, and its config's facts about latents.")
      .def_static(
          "resolve",
          [](const std::string& argument) { return std::make_shared<Model>(open_model(argument)); },
          "argument"_a, "A folder that holds config.json, or a built-in name.")
      .def_static(
          "from_config",
          [](const std::string& text, const std::string& origin) {
            auto model = std::make_shared<Model>(parse_model(text, origin));
            model->name = model->class_name;
            return model;
          },
          "text"_a, "origin"_a, "Reads the text of a config. `origin` names it in errors.")
      .def_ro("name", &Model::name)
      .def_ro("class_name", &Model::class_name)
      .def_ro("latent_channels", &Model::latent_channels)
      .def_ro("decodes_clips", &Model::decodes_clips)
      .def_ro("why_no_decoder", &Model::why_no_decoder, "Empty unless Headroom only encodes with the class.")
      .def_prop_ro("encoded_clips", &encoded_clips_of,
                   "(frames, dropped latent frames) of an encoder that encodes parts of a clip "
                   "independently; otherwise "
                   "None.")
      .def_prop_ro(
          "frames_in_batch", [](const Model& model) { return family_of(model.class_name).frames_in_batch; },
          "True if the class's decode takes the frames of clips as a batch, and their number.")
      .def_ro("force_upcast", &Model::force_upcast)
      .def_ro("scaling_factor", &Model::scaling_factor)
      .def_prop_ro("latent_patches", &latent_patches_of,
                   "(rows, columns, epsilon) if pipelines pass patches that a batch norm of the VAE "
                   "normalises; otherwise None.")
      .def(
          "for_frames",
          [](std::shared_ptr<Model> model, int64_t frames) {
            if (frames != 1 || !model->decodes_clips) return model;
            return std::make_shared<Model>(for_frames(*model, frames));
          },
          "frames"_a,
          "The model for decodes of this many frames. For one frame, a clip's decoder has kernels of one "
          "frame.")
      .def("why_no_stream", &why_no_stream, "Why it cannot run block by block. Empty if it can.")
      .def(
          "for_direction",
          [](const Model& model, const std::string& direction) {
            return std::make_shared<Model>(for_direction(model, parse_direction(direction)));
          },
          "direction"_a, "The model whose graph is the decoder or the encoder.")
      .def_prop_ro(
          "direction", [](const Model& model) { return name_of(direction_of(model.graph)); },
          "decode or encode: the direction of the graph.")
      .def_prop_ro(
          "has_encoder", [](const Model& model) { return model.encoder != nullptr; },
          "True if for_direction(\"encode\") can work.")
      .def("parameter_names", &parameter_names, "The names that today's diffusers uses.")
      .def_prop_ro("epsilons", &epsilons, "What the graph's norms add, so that they never divide by zero.")
      .def("read_names", &read_names, "stored"_a,
           "Returns the names, of a checkpoint's tensors, that a decode reads.")
      .def("strided", &strided, "stored"_a,
           "Kernels with a stride, by their names in a checkpoint: ((frames, rows, columns), whether the "
           "module "
           "around the convolution pads).")
      .def(
          "decoding_dtype",
          [](const Model& model, const std::string& asked) {
            return name_of(decoding_dtype(model, parse_dtype(asked)));
          },
          "asked"_a)
      .def("picture_shape", &picture_shape_of, "latent_shape"_a,
           "(batch, channels, frames, rows, columns) of the picture that a latent of this shape decodes to.")
      .def("encoded_shape", &encoded_shape_of, "picture_shape"_a,
           "((batch, channels, frames, rows, columns) of the latent of a picture of this shape, (batch, "
           "frames, height, width) of the picture).")
      .def(
          "latent_shape",
          [](const Model& model, int64_t width, int64_t height, int64_t frames, int64_t batch) {
            return input_shape(model, latent_extent(model, width, height, frames), batch);
          },
          "width"_a, "height"_a, "frames"_a = 1, "batch"_a = 1);
  bind_families(module);
}

}  // namespace headroom::python
