#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "decoder/operations/operation.h"
#include "decoder/weights/random_weights.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

struct Golden {
  Parameter parameter;
  uint64_t seed;
  uint32_t first, second, last;  ///< bits of the values
};

// Printed by tests/reference/random_weights.py.
const std::vector<Golden> kGolden = {
    {{"decoder.conv_in.weight", {8, 4, 3, 3}}, 1u, 0xbe4e9845, 0x3dbdac62, 0xbe61ced5},
    {{"decoder.mid_block.attentions.0.to_q.weight", {16, 16}}, 1u, 0xbe0f3223, 0xbc89e2c3, 0x3ea9cda3},
    {{"decoder.conv_norm_out.weight", {70000}}, 42u, 0x3f5069a8, 0x3f812416, 0x3f789038},
    {{"post_quant_conv.bias", {4}}, 18446744073709551615u, 0x3db4be2b, 0xbd3e201a, 0xbcd5c2ad},
};

std::vector<float> filled(const Parameter& parameter, uint64_t seed) {
  size_t count = 1;
  for (const int64_t extent : parameter.shape) count *= static_cast<size_t>(extent);
  std::vector<float> values(count);
  fill_random(parameter, seed, values.data());
  return values;
}

TEST_CASE("random parameters have the bits of the Python twin") {
  for (const Golden& golden : kGolden) {
    CAPTURE(golden.parameter.name);
    const std::vector<float> values = filled(golden.parameter, golden.seed);
    CHECK(std::bit_cast<uint32_t>(values.front()) == golden.first);
    CHECK(std::bit_cast<uint32_t>(values[1]) == golden.second);
    CHECK(std::bit_cast<uint32_t>(values.back()) == golden.last);
  }
}

TEST_CASE("the random latent has the bits of the Python twin and unit variance") {
  const Array latent = random_latent({1, 4, 8, 8}, 7);
  CHECK(latent.shape == std::vector<int64_t>{1, 4, 8, 8});
  REQUIRE(latent.values.size() == 256);
  CHECK(std::bit_cast<uint32_t>(latent.values[0]) == 0x3fb8e1df);
  CHECK(std::bit_cast<uint32_t>(latent.values[1]) == 0xbf5534a4);
  CHECK(std::bit_cast<uint32_t>(latent.values[255]) == 0x3eb8eaca);
  double sum = 0, squares = 0;
  const Array large = random_latent({1, 4, 128, 128}, 8);
  for (const float value : large.values) sum += value, squares += double{value} * value;
  CHECK(std::abs(sum / 65536) < 0.02);
  CHECK(std::abs(squares / 65536 - 1) < 0.02);
}

TEST_CASE("ranges of a random parameter are those of the whole") {
  const Parameter parameter{"decoder.conv_in.weight", {8, 4, 3, 3}};
  const std::vector<float> whole = filled(parameter, 9);
  for (const Interval range : {Interval{0, 288}, {0, 1}, {17, 100}, {287, 288}, {5, 5}}) {
    std::vector<float> piece(static_cast<size_t>(range.length()));
    fill_random(parameter, 9, range, piece.data());
    CHECK(piece == std::vector<float>(whole.begin() + range.begin, whole.begin() + range.end));
  }
}

TEST_CASE("a linear layer and a 1×1 convolution of one name have the same values") {
  CHECK(filled({"a.weight", {8, 4}}, 3) == filled({"a.weight", {8, 4, 1, 1}}, 3));
}

TEST_CASE("names and seeds give different values") {
  const auto values = filled({"a.weight", {8, 4}}, 3);
  CHECK(values != filled({"b.weight", {8, 4}}, 3));
  CHECK(values != filled({"a.weight", {8, 4}}, 4));
}

TEST_CASE("shapes without elements are refused") {
  float out[1];
  test::require_input_error([&] { fill_random({"a.weight", {}}, 1, out); }, {"a.weight", "shape"});
  test::require_input_error([&] { fill_random({"a.weight", {4, 0}}, 1, out); }, {"a.weight", "[4, 0]"});
  test::require_input_error([&] { random_latent({INT64_MAX, INT64_MAX}, 1); }, {"latent"});
}

}  // namespace
}  // namespace headroom
