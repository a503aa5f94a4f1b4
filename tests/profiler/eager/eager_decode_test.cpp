#include "profiler/eager/eager_decode.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <tuple>

#include "decoder/families/load_model.h"
#include "profiler/eager/layer_memory.h"

namespace headroom::profiler {
namespace {

struct Measured {
  const char* model;
  int64_t width, height, frames;
  int64_t weights_bytes;
  int64_t allocated_bytes;  ///< the most at one time above the weights, as LibTorch's profiler recorded it
  const char* layer;        ///< in which it was reached
};

// PyTorch 2.11, diffusers 0.42, AVX2, two threads: reports/bench/untiled_peak.py.
constexpr Measured kMeasured[] = {
    {"sdxl", 256, 256, 1, 197960796, 254033920, "decoder.up_blocks.2.upsamplers.0.conv"},
    {"sdxl", 512, 512, 1, 197960796, 1009057792, "decoder.up_blocks.2.upsamplers.0.conv"},
    {"sana-dc-ae-f32c32", 256, 256, 1, 636892684, 151519232, ""},
    {"sana-dc-ae-f32c32", 512, 512, 1, 636892684, 606076928, ""},
    {"wan2.1", 128, 128, 9, 293182412, 348895232, "decoder.up_blocks.3.resnets.1.conv1"},
    {"wan2.1", 256, 256, 9, 293182412, 1387821056, "decoder.up_blocks.3.resnets.1.conv1"},
    {"wan2.2", 160, 96, 5, 2220206320, 334857216, "decoder.up_blocks.3.resnets.0.conv1"},
    {"wan2.2", 192, 160, 9, 2220206320, 717414912, "decoder.up_blocks.3.resnets.0.conv1"},
};

EagerDecode counted(const char* name, int64_t width, int64_t height, int64_t frames, Request request = {}) {
  const Model model = for_frames(resolve_model(name), frames);
  request.width_pixels = width;
  request.height_pixels = height;
  request.frames = frames;
  return eager_decode(model, request).value();
}

TEST_CASE("eager: the peak is that which LibTorch's allocator had") {
  const Measured& measured = GENERATE(from_range(std::begin(kMeasured), std::end(kMeasured)));
  CAPTURE(measured.model, measured.width);
  const EagerDecode found = counted(measured.model, measured.width, measured.height, measured.frames);
  CHECK(found.weights_bytes == measured.weights_bytes);
  CHECK(double(found.peak_bytes - found.weights_bytes) ==
        Approx(double(measured.allocated_bytes)).epsilon(0.001));
  if (*measured.layer != '\0')
    CHECK(for_frames(resolve_model(measured.model), measured.frames).graph.op(found.peak_layer).name ==
          measured.layer);
}

TEST_CASE("eager: an encode's peak is the memory by which diffusers' process grew") {
  // reports/bench/bench_encode.py --model sdxl, weights included, to the MiB.
  const std::tuple<int64_t, int64_t, int64_t> measured[] = {{512, 512, 774}, {768, 512, 1094}};
  const Model model = for_frames(for_direction(resolve_model("sdxl"), Direction::encode), 1);
  for (const auto& [width, height, mebibytes] : measured) {
    CAPTURE(width);
    Request request;
    request.width_pixels = width;
    request.height_pixels = height;
    set_direction(request, Direction::encode);
    CHECK(double(eager_decode(model, request).value().peak_bytes) ==
          Approx(double(mebibytes) * 1024 * 1024).epsilon(0.002));
  }
}

TEST_CASE("eager: what is held at the peak adds up to it, and no layer has more") {
  for (const Measured& measured : kMeasured) {
    CAPTURE(measured.model, measured.width);
    const EagerDecode found = counted(measured.model, measured.width, measured.height, measured.frames);
    CHECK(std::accumulate(found.peak_live.begin(), found.peak_live.end(), int64_t{0},
                          [](int64_t sum, const EagerTensor& held) { return sum + held.bytes; }) ==
          found.peak_bytes);
    CHECK(std::is_sorted(found.peak_live.begin(), found.peak_live.end(),
                         [](const EagerTensor& a, const EagerTensor& b) { return a.bytes > b.bytes; }));
    for (const EagerLayer& layer : found.layers) {
      CHECK(layer.workspace_bytes >= 0);
      CHECK(layer.live_bytes <= found.peak_bytes);
    }
    CHECK(found.layers[index(found.peak_layer)].live_bytes == found.peak_bytes);
  }
}

TEST_CASE("eager: bytes follow pixels, pictures, dtype and device") {
  const EagerDecode one = counted("sdxl", 512, 512, 1);
  const auto above = [](const EagerDecode& found) { return double(found.peak_bytes - found.weights_bytes); };
  CHECK(above(counted("sdxl", 1024, 512, 1)) == Approx(2 * above(one)).epsilon(0.01));
  Request two;
  two.batch = 2;
  CHECK(above(counted("sdxl", 512, 512, 1, two)) == Approx(2 * above(one)).epsilon(0.01));
  Request half;
  half.dtype = Dtype::bf16;
  const EagerDecode halved = counted("sdxl", 512, 512, 1, half);
  CHECK(halved.weights_bytes * 2 == one.weights_bytes);
  CHECK(above(halved) * 2 == above(one));
  Request gpu;
  gpu.device = DeviceKind::cuda;  // where nothing is copied into oneDNN's layout
  CHECK(above(counted("sdxl", 512, 512, 1, gpu)) < 0.8 * above(one));
  // Later chunks of a clip take the same again: only the clip grows, its latent, and what is made of all of
  // that.
  const double more = above(counted("wan2.1", 128, 128, 33)) - above(counted("wan2.1", 128, 128, 17));
  CHECK(more == 16 * 3 * 128 * 128 * 4 + 2 * 16.0 * 4 * 4 * 16 * 16);
}

TEST_CASE("eager: a class whose code is not known is not counted") {
  Model model = resolve_model("sdxl");
  model.class_name = "AutoencoderTiny";
  Request request;
  request.width_pixels = request.height_pixels = 64;
  CHECK_FALSE(eager_decode(model, request));
}

TEST_CASE("eager: a module's input is held until the module is done") {
  Graph graph;
  const TensorId latent = graph.add_latent(4);
  const TensorId x = graph.conv("decoder.blocks.0.conv", latent, 4, {1, 3, 3});
  const TensorId h = graph.conv("decoder.blocks.1.conv1", x, 4, {1, 3, 3});
  const TensorId y = graph.conv("decoder.blocks.1.conv2", h, 4, {1, 3, 3});
  graph.set_output(graph.conv("decoder.out", y, 3, {1, 3, 3}));
  const std::vector<size_t> until = held_until(graph, eager_order(graph, false));
  CHECK(until[index(latent)] == 3);  // decoder
  CHECK(until[index(x)] == 2);       // blocks.1, although conv1 alone reads it
  CHECK(until[index(h)] == 2);
  CHECK(until[index(y)] == 3);
}

TEST_CASE("eager: Wan's blocks compute their shortcut first") {
  const Graph graph = resolve_model("wan2.1").graph;
  const std::vector<OpId> order = eager_order(graph, true);
  CHECK(order.size() == graph.ops().size());
  const auto place = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), graph.find_op(name)) - order.begin();
  };
  const std::string block = "decoder.up_blocks.1.resnets.0.";
  CHECK(place(block + "conv_shortcut") + 1 == place(block + "norm1"));
  CHECK(place(block + "conv1") < place(block + "conv2"));
}

TEST_CASE("eager: Wan 2.2's blocks hold a copy of what they are called with until they are done") {
  const Graph graph = resolve_model("wan2.2").graph;
  const std::vector<OpId> order = eager_order(graph, true);
  const std::vector<CopiedInput> copies = copied_inputs(graph, order);
  REQUIRE(copies.size() == 4);
  for (size_t i = 0; i < copies.size(); ++i) {
    const std::string block = "decoder.up_blocks." + std::to_string(i);
    CAPTURE(block);
    CHECK(graph.op(order[copies[i].first]).name.find(block + ".resnets.0.") == 0);
    CHECK(graph.op(order[copies[i].first]).inputs[0] == copies[i].tensor);
    // The last block has no shortcut, and copies its input all the same.
    CHECK(graph.op(order[copies[i].last]).name == (i < 3 ? block : block + ".resnets.2"));
    CHECK(graph.op(order[copies[i].last + 1]).name.find(block) != 0);
  }
  CHECK(copied_inputs(resolve_model("wan2.1").graph, order).empty());
}

TEST_CASE("eager: of a clip's operations one is done to all frames before, and one to all of them behind") {
  const Graph graph = resolve_model("wan2.2").graph;
  for (const Op& op : graph.ops()) {
    const EagerStage expected = op.name == "post_quant_conv" ? EagerStage::before_frames
                                : op.name == "unpatchify"    ? EagerStage::after_frames
                                                             : EagerStage::frame;
    CHECK(stage_of(op, EagerNetwork::wan) == expected);
  }
  CHECK(graph.tensor(made_of_frame(graph, EagerNetwork::wan)).name == "decoder.conv_out");
  const Graph of_pictures = resolve_model("sdxl").graph;
  CHECK(stage_of(of_pictures.ops().front(), EagerNetwork::kl) == EagerStage::frame);
  CHECK(made_of_frame(of_pictures, EagerNetwork::kl) == of_pictures.output());
}

}  // namespace
}  // namespace headroom::profiler
