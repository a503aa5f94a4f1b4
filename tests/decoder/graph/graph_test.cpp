#include "decoder/graph/graph.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "tests/support/op_named.h"
#include "tests/support/random.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::op_named;

constexpr Extent k64{1, 64, 64};

double flops_of_kind(const Model& model, OpKind kind, const Extent& latent) {
  double sum = 0;
  for (const Op& op : model.graph.ops()) {
    if (op.kind != kind) continue;
    sum += flops_per_position(model.graph, op, latent) *
           double(positions(extent_of(model.graph.tensor(op.output), latent)));
  }
  return sum;
}

/// The decoder of SDXL counted by hand: widths, resolutions and layers as its config gives them.
struct SdxlByHand {
  double flops = 0;
  int64_t parameters = 0;

  void conv(int64_t side, int64_t in, int64_t out, int64_t kernel, int64_t taps = 0) {
    flops += 2.0 * double(side * side) * double(in * out * (taps > 0 ? taps : kernel * kernel));
    parameters += in * out * kernel * kernel + out;
  }
  void resnet(int64_t side, int64_t in, int64_t out) {
    conv(side, in, out, 3);
    conv(side, out, out, 3);
    if (in != out) conv(side, in, out, 1);
    parameters += 2 * in + 2 * out;
  }
  SdxlByHand() {
    conv(64, 4, 4, 1);
    conv(64, 4, 512, 3);
    resnet(64, 512, 512);
    for (int product = 0; product < 2; ++product) conv(64, 512, 512, 1);
    parameters += 2 * (512 * 512 + 512);  // four projections, of which two and two are multiplied
    flops += 4.0 * 4096 * 4096 * 512;
    parameters += 2 * 512;
    resnet(64, 512, 512);
    for (int layer = 0; layer < 3; ++layer) resnet(64, 512, 512);
    conv(128, 512, 512, 3, 4);  // over upsampling each phase has 2x2 taps
    for (int layer = 0; layer < 3; ++layer) resnet(128, 512, 512);
    conv(256, 512, 512, 3, 4);
    for (int layer = 0; layer < 3; ++layer) resnet(256, layer == 0 ? 512 : 256, 256);
    conv(512, 256, 256, 3, 4);
    for (int layer = 0; layer < 3; ++layer) resnet(512, layer == 0 ? 256 : 128, 128);
    parameters += 2 * 128;
    conv(512, 128, 3, 3);
  }
};

TEST_CASE("SDXL's FLOPs and weights are those counted by hand") {
  const Model sdxl = resolve_model("sdxl");
  const SdxlByHand by_hand;
  const double flops = flops_of_kind(sdxl, OpKind::conv, k64) + flops_of_kind(sdxl, OpKind::attention, k64);
  CHECK(flops == by_hand.flops);
  CHECK(flops == Approx(2124e9).epsilon(5e-4));
  CHECK(parameter_elements(sdxl.graph) == by_hand.parameters);
  CHECK(std::round(double(parameter_elements(sdxl.graph)) * 4 / 1048576) == 189);
}

TEST_CASE("shapes follow the latent, odd extents included") {
  const Model model = test::model_of(test::tiny_config({8, 16, 24}));
  const Graph& graph = model.graph;
  const Extent latent{1, 7, 13};
  CHECK(extent_of(graph.tensor(graph.input()), latent) == latent);
  CHECK(extent_of(graph.tensor(graph.output()), latent) == Extent{1, 28, 52});
  CHECK(graph.tensor(graph.output()).channels == 3);
  const TensorId middle = graph.find_tensor("decoder.up_blocks.1.resnets.0");
  REQUIRE(middle != TensorId{-1});
  CHECK(graph.tensor(middle).channels == 16);
  CHECK(graph.tensor(middle).scale == Axes<int32_t>{1, 2, 2});
  CHECK(bytes_of(graph.tensor(middle), latent, 3, Dtype::fp32) == int64_t{3} * 16 * 14 * 26 * 4);
  CHECK(bytes_of(graph.tensor(middle), latent, 3, Dtype::bf16) == int64_t{3} * 16 * 14 * 26 * 2);
}

TEST_CASE("tensors of 8192x8192 pixels pass 2^31 elements without wrapping") {
  const Model sdxl = resolve_model("sdxl");
  const Graph& graph = sdxl.graph;
  const Extent latent{1, 1024, 1024};
  const TensorId large = graph.find_tensor("decoder.up_blocks.2.upsamplers.0.conv");
  REQUIRE(large != TensorId{-1});
  const int64_t elements = positions(extent_of(graph.tensor(large), latent)) * graph.tensor(large).channels;
  CHECK(elements == int64_t{256} << 26);
  CHECK(elements > int64_t{1} << 31);
  CHECK(bytes_of(graph.tensor(large), latent, 4, Dtype::fp16) == (int64_t{256} << 26) * 2 * 4);
  CHECK(flops_of_kind(sdxl, OpKind::attention, latent) == 4.0 * std::pow(2.0, 40) * 512);
}

TEST_CASE("only convolutions reach beyond their position") {
  const Model model = test::model_of(test::tiny_config());
  for (const Op& op : model.graph.ops()) {
    CAPTURE(op.name);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.kind == OpKind::conv) {
        // Over upsampling by 2 a kernel of 3 reads the position it repeats and one next to it.
        const auto half = per_axis([](int32_t k, int32_t factor) { return factor == 2 ? 1 : (k - 1) / 2; },
                                   op.kernel, op.factor);
        CHECK(reach(op) == Halo{half, half});
      } else {
        CHECK(reach(op) == Halo{});
      }
    }
  }
}

TEST_CASE("barriers are statistics, what they give to a norm, and the keys and values of attention") {
  const Model model = test::model_of(test::tiny_config());
  const Graph& graph = model.graph;
  const Op& attention = op_named(graph, "decoder.mid_block.attentions.0.attention");
  CHECK_FALSE(is_barrier(attention, 0));
  CHECK(is_barrier(attention, 1));
  CHECK(is_barrier(attention, 2));
  const Op& norm = op_named(graph, "decoder.conv_norm_out");
  CHECK_FALSE(is_barrier(norm, 0));
  CHECK(is_barrier(norm, 1));
  CHECK(is_barrier(op_named(graph, "decoder.conv_norm_out.statistics"), 0));
  CHECK_FALSE(is_barrier(op_named(graph, "decoder.conv_out"), 0));
}

TEST_CASE("the region that an operation needs is the one that a plain loop over positions touches") {
  const uint64_t seed = 20240501;
  CAPTURE(seed);
  test::Random random(seed);
  Graph graph;
  const TensorId latent = graph.add_latent(2);
  const TensorId conv = graph.conv("conv", latent, 2, {1, 3, 5});
  const TensorId twice = graph.upsample("twice", conv, {1, 2, 2});
  const TensorId thrice = graph.upsample("thrice", twice, {1, 3, 1});
  graph.set_output(graph.add("sum", thrice, thrice));
  for (int trial = 0; trial < 400; ++trial) {
    const Op& op = graph.ops()[static_cast<size_t>(random.integer(0, 3))];
    const int64_t y = random.integer(-9, 40), x = random.integer(-9, 40);
    const Region out{{0, 1}, {y, y + random.integer(1, 9)}, {x, x + random.integer(1, 9)}};
    CAPTURE(op.name, out.y.begin, out.y.end, out.x.begin, out.x.end);
    std::set<int64_t> rows, columns;
    const auto touch = [](std::set<int64_t>& touched, const Interval& along, int32_t factor, int32_t kernel) {
      for (int64_t p = along.begin; p < along.end; ++p) {
        const auto source = static_cast<int64_t>(std::floor(double(p) / factor));
        for (int64_t k = -(kernel / 2); k <= kernel / 2; ++k) touched.insert(source + k);
      }
    };
    touch(rows, out.y, op.factor.y, op.kernel.y);
    touch(columns, out.x, op.factor.x, op.kernel.x);
    const Region needed = needed_region(op, out);
    CHECK(needed.y == Interval{*rows.begin(), *rows.rbegin() + 1});
    CHECK(needed.x == Interval{*columns.begin(), *columns.rbegin() + 1});
    CHECK(needed.t == Interval{0, 1});
  }
}

TEST_CASE("barrier depths count the barriers on the longest path") {
  Graph graph;
  const TensorId latent = graph.add_latent(4);
  const TensorId first = graph.conv("first", latent, 4, {1, 3, 3});
  const TensorId s1 = graph.statistics("s1", first, 2, 1e-6);
  const TensorId n1 = graph.norm("n1", first, s1, Activation::silu);
  const TensorId q = graph.conv("q", n1, 4, {1, 1, 1});
  const TensorId k = graph.conv("k", n1, 4, {1, 1, 1});
  const TensorId mixed = graph.attention("mixed", q, k, k);
  const TensorId sum = graph.add("sum", mixed, first);
  graph.set_output(graph.conv("out", sum, 3, {1, 3, 3}));
  const std::vector<int32_t> depths = barrier_depths(graph);
  const auto depth = [&](TensorId id) { return depths[index(id)]; };
  CHECK(depth(latent) == 0);
  CHECK(depth(first) == 0);
  CHECK(depth(s1) == 1);
  CHECK(depth(n1) == 1);
  CHECK(depth(k) == 1);
  CHECK(depth(mixed) == 2);
  CHECK(depth(sum) == 2);
  CHECK(depth(graph.output()) == 2);
}

TEST_CASE("SDXL has a barrier for each norm and one for attention") {
  const Model sdxl = resolve_model("sdxl");
  const std::vector<int32_t> depths = barrier_depths(sdxl.graph);
  int32_t norms = 0;
  for (const Op& op : sdxl.graph.ops()) norms += op.kind == OpKind::norm ? 1 : 0;
  CHECK(norms == 14 * 2 + 2);
  CHECK(depths[index(sdxl.graph.output())] == norms + 1);
}

TEST_CASE("a graph knows its readers and producers") {
  const Model model = test::model_of(test::tiny_config());
  const Graph& graph = model.graph;
  CHECK(graph.producer(graph.input()) == nullptr);
  size_t reads = 0, inputs = 0;
  for (size_t t = 0; t < graph.tensors().size(); ++t) {
    const TensorId id{static_cast<int32_t>(t)};
    if (t > 0) CHECK(graph.producer(id)->output == id);
    CHECK(graph.find_tensor(graph.tensor(id).name) == id);
    for (OpId reader : graph.readers(id)) {
      const std::vector<TensorId>& of_reader = graph.op(reader).inputs;
      CHECK(std::find(of_reader.begin(), of_reader.end(), id) != of_reader.end());
      ++reads;
    }
  }
  for (const Op& op : graph.ops()) inputs += op.inputs.size();
  CHECK(reads == inputs);
  CHECK(graph.find_tensor("nothing") == TensorId{-1});
  CHECK(graph.find_op("nothing") == OpId{-1});
}

TEST_CASE("dtypes are read by name") {
  for (Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) CHECK(parse_dtype(name_of(dtype)) == dtype);
  CHECK(bytes_per_element(Dtype::fp32) == 4);
  CHECK(bytes_per_element(Dtype::bf16) == 2);
  CHECK(parse_dtype("bfloat16") == Dtype::bf16);
  CHECK(parse_dtype("float16") == Dtype::fp16);
  CHECK(parse_dtype("torch.float32") == Dtype::fp32);
  CHECK(parse_dtype("BF16") == Dtype::bf16);
  CHECK_THROWS_AS(parse_dtype("int8"), InputError);
}

}  // namespace
}  // namespace headroom
