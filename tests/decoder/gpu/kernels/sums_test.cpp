#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"
#ifndef HEADROOM_KERNELS_ON_GPU
#include "tests/emulated_gpu/emulator.h"
#endif
#include "tests/support/sanitized.h"

// Sums over whole regions: moments, affine, linear attention.
namespace headroom::gpu {
namespace {

using namespace test;
using Value = std::optional<double>;

struct Groups {
  int32_t channels, groups;
};
Groups any_groups(Random& random) {
  return random.pick<Groups>({{32, 32},
                              {64, 32},
                              {96, 32},
                              {128, 32},
                              {256, 32},
                              {24, 8},
                              {15, 3},
                              {7, 1},
                              {136, 8},
                              {200, 2},
                              {264, 2},
                              {254, 2},
                              {384, 1},
                              {1024, 4},
                              {1200, 10},
                              {320, 32},
                              {3, 3},
                              {272, 1}});
}

/// Moments in long double: first the mean, then the differences from it.
Moments expected_moments(const Map& map, const Box& region, int32_t group, int32_t groups) {
  const int32_t own = map.channels() / groups;
  long double sum = 0, squares = 0;
  int64_t count = 0;
  const auto each = [&](const auto& f) {
    map.each([&](const Position& at) {
      if (has(region, at) && at.c / own == group) f(static_cast<long double>(map.at(at)));
    });
  };
  each([&](long double value) {
    sum += value;
    ++count;
  });
  const long double mean = sum / static_cast<long double>(count);
  each([&](long double value) { squares += (value - mean) * (value - mean); });
  return {double(count), double(mean), double(squares)};
}

/// Adds a region's moments, with memory of just the bytes that it asked for.
void add_region(const View& view, const Box& region, int32_t groups, bool by_frame,
                std::vector<Moments>& state) {
  std::vector<Moments> partial(static_cast<size_t>(partial_moments(region, view.channels, groups)),
                               {NAN, NAN, NAN});
  std::vector<uint32_t> counters(
      static_cast<size_t>(moment_counters(region, view.channels, groups, by_frame)));
  start(AddMoments{.source = view,
                   .region = region,
                   .groups = groups,
                   .by_frame = by_frame,
                   .partial = partial.data(),
                   .counters = counters.data(),
                   .state = state.data()},
        nullptr);
  REQUIRE(std::all_of(counters.begin(), counters.end(), [](uint32_t counter) { return counter == 0; }));
}

TEST_CASE("moments of groups of channels") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{100}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const auto [channels, groups] = any_groups(random);
  CAPTURE(channels, groups);
  const bool large = random.chance(0.3);
  const Box box{frames(random), span(random, large ? 40 : 6),
                span(random, channels > 256 ? 20
                             : large        ? 60
                                            : 20)};
  const Dtype dtype = any_dtype(random);
  Map map(random, around(random, box), channels, dtype);
  // In fp32 the mean may be large beside the deviation.
  const double mean = dtype == Dtype::fp32 && random.chance(0.5) ? 500 : 0;
  if (mean > 0)
    map.each([&](const Position& at) { map.set(at, static_cast<float>(mean + 0.1 * double(map.at(at)))); });
  const bool by_frame = random.chance(0.4);
  CAPTURE(mean, by_frame);
  const Map before = map;
  std::vector<Moments> state(static_cast<size_t>((by_frame ? box.t.end : 1) * groups));
  add_region(map.view(), box, groups, by_frame, state);
  CHECK(difference(before, map, 0, [](const Position&) { return Value(); }) == "");
  for (int32_t set = 0; set < (by_frame ? box.t.end : 1); ++set) {
    for (int32_t group = 0; group < groups; ++group) {
      const Moments& found = state[static_cast<size_t>(set * groups + group)];
      Box counted = box;
      if (by_frame) counted.t = {set, set + 1};
      if (by_frame && set < box.t.begin) {
        CHECK(found.count == 0);
        continue;
      }
      const Moments expected = expected_moments(map, counted, group, groups);
      REQUIRE(found.count == expected.count);
      const double deviation = std::sqrt(expected.m2 / expected.count);
      REQUIRE(std::abs(found.mean - expected.mean) <= 2e-7 * deviation + 1e-14 * std::abs(expected.mean));
      REQUIRE(std::abs(found.m2 - expected.m2) <= 1e-6 * expected.m2);
    }
  }
}

TEST_CASE("moments of regions that are added one after another are those of all") {
  Random random(5);
  const Box box{{0, 2}, {0, 9}, {0, 30}};
  Map map(random, box, 64, Dtype::bf16);
  std::vector<Moments> state(16);
  for (const Span rows : {Span{0, 4}, Span{4, 9}}) {
    for (const Span columns : {Span{0, 7}, Span{7, 30}})
      add_region(map.view(), {box.t, rows, columns}, 16, false, state);
  }
  for (int32_t group = 0; group < 16; ++group) {
    const Moments expected = expected_moments(map, box, group, 16),
                  &found = state[static_cast<size_t>(group)];
    CHECK(found.count == expected.count);
    CHECK(found.mean == Approx(expected.mean).epsilon(1e-6));
    CHECK(found.m2 == Approx(expected.m2).epsilon(1e-6));
  }
}

TEST_CASE("moments are the same in every run") {
  Random random(6);
  const Box box{{0, 1}, {0, 40}, {0, 40}};
  Map map(random, box, 128, Dtype::fp16);
  std::vector<Moments> first(32);
  add_region(map.view(), box, 32, false, first);
  for (int i = 0; i < 5; ++i) {
    std::vector<Moments> again(32);
    add_region(map.view(), box, 32, false, again);
    for (size_t group = 0; group < 32; ++group) {
      CHECK(again[group].mean == first[group].mean);
      CHECK(again[group].m2 == first[group].m2);
    }
  }
}

#ifndef HEADROOM_KERNELS_ON_GPU
struct BlockOrder {
  explicit BlockOrder(uint64_t seed) { emulated::device.block_order = seed; }
  ~BlockOrder() { emulated::device = {}; }
};

TEST_CASE("moments do not depend on the order in which blocks run") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{20}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  // Up to 130 segments of a frame: three stretches, of which blocks merge each and then the three.
  const auto [channels, groups] = random.pick<Groups>({{128, 32}, {64, 32}, {15, 3}, {272, 1}});
  const Box box{{0, 2}, {0, 100}, {0, static_cast<int32_t>(random.integer(90, 166))}};
  const bool by_frame = random.chance(0.5);
  CAPTURE(channels, groups, by_frame);
  Map map(random, box, channels, Dtype::bf16);
  const auto count = static_cast<size_t>((by_frame ? 2 : 1) * groups);
  std::vector<Moments> in_order(count);
  add_region(map.view(), box, groups, by_frame, in_order);
  for (uint64_t order = 1; order <= 3; ++order) {
    const BlockOrder drawn(3 * seed + order);
    std::vector<Moments> found(count);
    add_region(map.view(), box, groups, by_frame, found);
    CHECK(std::memcmp(found.data(), in_order.data(), count * sizeof(Moments)) == 0);
  }
}
#endif

TEST_CASE("a NaN or an infinity that goes in shows in the moments of its group") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{30}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const auto [channels, groups] = any_groups(random);
  const Box box{{0, 1},
                {0, static_cast<int32_t>(random.integer(1, 9))},
                {0, static_cast<int32_t>(random.integer(1, 30))}};
  Map map(random, box, channels, any_dtype(random));
  const Position bad{0, static_cast<int32_t>(random.integer(0, box.y.end - 1)),
                     static_cast<int32_t>(random.integer(0, box.x.end - 1)),
                     static_cast<int32_t>(random.integer(0, channels - 1))};
  map.set(bad, random.pick<float>({NAN, INFINITY, -INFINITY}));
  std::vector<Moments> state(static_cast<size_t>(groups));
  add_region(map.view(), box, groups, false, state);
  for (int32_t group = 0; group < groups; ++group) {
    const Moments& moments = state[static_cast<size_t>(group)];
    const bool finite = std::isfinite(moments.mean) && std::isfinite(moments.m2);
    CHECK(finite == (group != bad.c / (channels / groups)));
  }
}

TEST_CASE("affine: scale and shift of each channel of each set") {
  Random random(7);
  const int32_t sets = 3, groups = 8, channels = 120;
  std::vector<Moments> state(sets * groups);
  for (Moments& moments : state) moments = {1000, random.uniform(-5, 5), random.uniform(0, 3000)};
  state[4].m2 = -1e-9;  // rounding may leave that
  std::vector<float> weight(channels), bias(channels), scale(sets * channels), shift(sets * channels);
  for (float& value : weight) value = static_cast<float>(random.uniform(-2, 2));
  for (float& value : bias) value = static_cast<float>(random.uniform(-2, 2));
  start(Affine{.state = state.data(),
               .sets = sets,
               .groups = groups,
               .channels = channels,
               .epsilon = 1e-5,
               .weight = weight.data(),
               .bias = bias.data(),
               .scale = scale.data(),
               .shift = shift.data()},
        nullptr);
  for (int32_t set = 0; set < sets; ++set) {
    for (int32_t c = 0; c < channels; ++c) {
      const Moments& moments = state[static_cast<size_t>(set * groups + c / (channels / groups))];
      const auto i = static_cast<size_t>(set * channels + c), own = static_cast<size_t>(c);
      const double deviation = std::sqrt(std::max(0.0, moments.m2 / moments.count) + 1e-5);
      CHECK(scale[i] == static_cast<float>(weight[own] / deviation));
      CHECK(double(shift[i]) ==
            Approx(bias[own] - moments.mean * weight[own] / deviation).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("a NaN among the keys shows in the sums") {
  Random random(4);
  const Box box{{0, 1}, {0, 3}, {0, 5}};
  Map chunk(random, box, 96, Dtype::fp16);
  chunk.set({0, 1, 2, 32 + 7}, NAN);
  std::vector<float> partial(static_cast<size_t>(key_value_partials(box) * 32 * 33));
  std::vector<double> sums(32 * 33);
  start(AddKeyValueSums{.chunk = chunk.view(),
                        .region = box,
                        .heads = 1,
                        .channels = 32,
                        .partial = partial.data(),
                        .sums = sums.data()},
        nullptr);
  for (size_t i = 0; i < sums.size(); ++i) CHECK(std::isnan(sums[i]) == (i / 33 == 7));
}

}  // namespace
}  // namespace headroom::gpu
