#include "decoder/gpu/transfers/card_weights.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <limits>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/families/load_model.h"
#include "decoder/gpu/transfers/pinned_staging.h"
#include "decoder/schedule/storage.h"
#include "decoder/weights/random_weights.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;

/// A model's parameters in an emulated GPU's memory. Their axes lie in any order, as in channels_last.
struct OnCard {
  OnCard(EmulatedGpu& gpu, const Graph& graph, Dtype stored, uint64_t seed) {
    test::Random random(seed);
    for (const Op& op : graph.ops()) {
      for (const Parameter& parameter : parameters_of(graph, op)) add(gpu, random, parameter, stored, seed);
    }
  }
  void add(EmulatedGpu& gpu, test::Random& random, const Parameter& parameter, Dtype stored, uint64_t seed) {
    if (arrays.contains(parameter.name)) return;
    const int64_t count = elements_of(parameter), bytes = count * bytes_per_element(stored);
    DeviceArray array{nullptr, stored, parameter.shape, std::vector<int64_t>(parameter.shape.size())};
    const size_t inner = array.shape.size() > 2 && random.chance(0.5) ? 1 : array.shape.size() - 1;
    int64_t stride = array.shape[inner];
    array.strides[inner] = 1;
    for (size_t axis = array.shape.size(); axis-- > 0;) {
      if (axis == inner) continue;
      array.strides[axis] = stride;
      stride *= array.shape[axis];
    }
    memory.push_back(gpu.pin(bytes));
    array.values = memory.back().get();
    std::vector<float> values(static_cast<size_t>(count));
    fill_random(parameter, seed, {0, count}, values.data());
    for (int64_t number = 0; number < count; ++number) {
      int64_t rest = number, at = 0;
      for (size_t axis = array.shape.size(); axis-- > 0; rest /= array.shape[axis])
        at += rest % array.shape[axis] * array.strides[axis];
      kernels::narrow(stored, &values[static_cast<size_t>(number)],
                      array.values + at * bytes_per_element(stored), 1);
    }
    arrays.emplace(parameter.name, std::move(array));
  }
  std::unordered_map<std::string, DeviceArray> arrays;
  std::vector<std::shared_ptr<std::byte>> memory;
};

std::vector<std::string> models() {
  std::vector<std::string> all;
  for (const auto& each : std::filesystem::directory_iterator(HEADROOM_TEST_DATA "/golden"))
    if (each.is_directory()) all.push_back(each.path());
  return all;
}

/// Weights as the host packs them, from the values that a card has.
std::vector<std::byte> packed_by_host(gpu::Gpu& gpu, const Graph& graph, Dtype dtype,
                                      const ParameterSource& source) {
  const PinnedWeights all(gpu, graph, all_operations(graph), dtype, host_weights(graph, source), {});
  std::vector<std::byte> bytes(static_cast<size_t>(all.bytes()), std::byte{0xff});
  for (const PinnedWeights::Copy& copy : all.copies(all_operations(graph), bytes.data()))
    std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
  return bytes;
}

TEST_CASE("weights that a GPU packs have the bits of those that the host packs") {
  int64_t packed_on_card = 0, folded_on_host = 0;
  uint64_t number = 0;
  for (const std::string& folder : models()) {
    const Model model = resolve_model(folder);
    ++number;
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      if (test::kSanitized && seed != 1 + number % 3) continue;
      constexpr std::array kDtypes{Dtype::fp32, Dtype::bf16, Dtype::fp16};
      const Dtype stored = kDtypes[seed - 1], dtype = kDtypes[seed % 3];
      CAPTURE(folder, name_of(stored), name_of(dtype));
      EmulatedGpu gpu;
      const OnCard there(gpu, model.graph, stored, seed);
      const CardParameters parameters(folder, there.arrays);
      PinnedStaging staging(gpu);
      StagedCopies copies(staging);
      const ParameterSource source = parameters.source(copies);
      const std::vector<std::byte> expected = packed_by_host(gpu, model.graph, dtype, source);

      const std::vector<OpId> folded = folded_operations(model.graph);
      const PinnedWeights by_host(gpu, model.graph, folded, dtype, host_weights(model.graph, source), {});
      const auto memory = gpu.pin(static_cast<int64_t>(expected.size()));
      std::memset(memory.get(), 0xff, expected.size());
      const auto flag = gpu.pin(sizeof(uint32_t));
      std::memset(flag.get(), 0, sizeof(uint32_t));
      const CardWeights weights(gpu, model.graph, dtype, parameters, &by_host);
      weights.pack(all_operations(model.graph), memory.get(), [&](gpu::Pack call) {
        call.not_finite = reinterpret_cast<uint32_t*>(flag.get());
        gpu.run(call);
        packed_on_card += call.lists;
      });
      folded_on_host += std::ssize(folded);
      CHECK(*reinterpret_cast<const uint32_t*>(flag.get()) == 0);
      // Neither writes the padding behind a list.
      CHECK(std::memcmp(memory.get(), expected.data(), expected.size()) == 0);
    }
  }
  CHECK(test::often(packed_on_card, 1000));
  CHECK(folded_on_host > 0);
}

TEST_CASE("a weight on a GPU that is not finite is named") {
  const Model model = resolve_model(HEADROOM_TEST_DATA "/golden/plain");
  EmulatedGpu gpu;
  OnCard there(gpu, model.graph, Dtype::fp32, 1);
  const float bad = std::numeric_limits<float>::infinity();
  std::memcpy(there.arrays.at("decoder.conv_in.bias").values + 2 * sizeof bad, &bad, sizeof bad);
  const CardParameters parameters("plain", there.arrays);
  PinnedStaging staging(gpu);
  StagedCopies copies(staging);
  const CardWeights weights(gpu, model.graph, Dtype::bf16, parameters, nullptr);
  const auto memory = gpu.pin(resident_weights_bytes(model.graph, {DeviceKind::cuda, Dtype::bf16}));
  const auto flag = gpu.pin(sizeof(uint32_t));
  std::memset(flag.get(), 0, sizeof(uint32_t));
  weights.pack(all_operations(model.graph), memory.get(), [&](gpu::Pack call) {
    call.not_finite = reinterpret_cast<uint32_t*>(flag.get());
    gpu.run(call);
  });
  CHECK(*reinterpret_cast<const uint32_t*>(flag.get()) == 1);
  CHECK_THROWS_WITH(weights.require_finite(copies), "plain: decoder.conv_in.bias: element 2 is not finite");
}

TEST_CASE("a parameter that is not on the GPU, or has another shape, is named") {
  const Model model = resolve_model(HEADROOM_TEST_DATA "/golden/plain");
  EmulatedGpu gpu;
  OnCard there(gpu, model.graph, Dtype::fp32, 1);
  const auto memory = gpu.pin(resident_weights_bytes(model.graph, {DeviceKind::cuda, Dtype::fp32}));
  const auto pack = [&] {
    const CardParameters parameters("plain", there.arrays);
    const CardWeights weights(gpu, model.graph, Dtype::fp32, parameters, nullptr);
    weights.pack(all_operations(model.graph), memory.get(), [](const gpu::Pack&) {});
  };
  there.arrays.at("decoder.conv_in.bias").shape = {5};
  CHECK_THROWS_WITH(pack(), Catch::Contains("plain: decoder.conv_in.bias: shape: expected"));
  there.arrays.erase("decoder.conv_in.bias");
  CHECK_THROWS_WITH(pack(), "plain: decoder.conv_in.bias: no such tensor");
}

}  // namespace
}  // namespace headroom
