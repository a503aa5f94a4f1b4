#include "decoder/weights/memory_weights.h"

#include <array>
#include <catch2/catch.hpp>
#include <limits>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;

MemoryTensor tensor(StoredDtype dtype, std::vector<int64_t> shape, const void* data) {
  return {dtype, std::move(shape), static_cast<const std::byte*>(data)};
}

TEST_CASE("parameters are read from memory in each dtype, also in part") {
  const std::array<float, 4> fp32{1, 2, 3, 4};
  const std::array<uint16_t, 4> fp16{0x3c00, 0x4000, 0x4200, 0x4400}, bf16{0x3f80, 0x4000, 0x4040, 0x4080};
  const MemoryWeights weights("vae", {{"a", tensor(StoredDtype::f32, {4}, fp32.data())},
                                      {"b", tensor(StoredDtype::f16, {2, 2}, fp16.data())},
                                      {"c", tensor(StoredDtype::bf16, {2, 2, 1, 1}, bf16.data())}});
  std::array<float, 4> out{};
  for (const auto& [name, shape] :
       {std::pair<std::string, std::vector<int64_t>>{"a", {4}}, {"b", {2, 2, 1, 1}}, {"c", {2, 2}}}) {
    weights.read({name, shape}, {0, 4}, out.data());
    CHECK(out == fp32);
    weights.read({name, shape}, {1, 3}, out.data());
    CHECK(out[0] == 2);
    CHECK(out[1] == 3);
    out = {};
  }
}

TEST_CASE("what is missing, of another shape or dtype, or not finite is refused by name") {
  const std::array<float, 2> bad{1, std::numeric_limits<float>::infinity()};
  const MemoryWeights weights("vae", {{"a", tensor(StoredDtype::f32, {2}, bad.data())},
                                      {"b", tensor(StoredDtype::other, {2}, bad.data())}});
  std::array<float, 2> out{};
  const auto read = [&](const Parameter& parameter) { weights.read(parameter, {0, 2}, out.data()); };
  require_input_error([&] { read({"c", {2}}); }, {"vae: c: no such tensor"});
  require_input_error([&] { read({"a", {3}}); }, {"vae: a: shape: expected [3], found [2]"});
  require_input_error([&] { read({"b", {2}}); }, {"vae: b: dtype: expected fp32, fp16 or bf16"});
  require_input_error([&] { read({"a", {2}}); }, {"vae: a: element 1 is not finite"});
}

TEST_CASE("a model's parameters are asked for before anything is read") {
  const Model model = resolve_model("sd15");
  require_input_error([&] { MemoryWeights("vae", {}).require_all(model.graph); },
                      {"vae: post_quant_conv.weight: no such tensor"});
}

}  // namespace
}  // namespace headroom
