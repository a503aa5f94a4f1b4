#include "decoder/weights/weights_hash.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

namespace headroom {
namespace {

/// Reads these parts of a parameter of ten values, the first of which is `first`.
void read(const ParameterSource& source, const std::vector<Interval>& parts, const char* name = "a") {
  for (const Interval& part : parts) {
    std::vector<float> out(static_cast<size_t>(part.length()));
    source({name, {2, 5}}, part, out.data());
  }
}

std::string hash_of(float first, const std::vector<Interval>& parts, const char* name = "a") {
  const WeightsHash hash;
  read(hash.over([first](const Parameter&, const Interval& range, float* out) {
    for (int64_t i = range.begin; i < range.end; ++i) *out++ = first + static_cast<float>(i * i);
  }),
       parts, name);
  return hash.text();
}

TEST_CASE("a hash of weights depends on names and values, not on how they are read") {
  const std::string whole = hash_of(1, {{0, 10}});
  CHECK(whole.size() == 16);
  CHECK(hash_of(1, {{0, 3}, {3, 10}}) == whole);
  CHECK(hash_of(1, {{7, 10}, {0, 3}, {3, 7}}) == whole);
  CHECK(hash_of(1, {{0, 10}, {0, 10}}) == whole);
  CHECK(hash_of(1, {{2, 6}, {0, 8}, {4, 10}, {1, 2}}) == whole);
  CHECK(hash_of(2, {{0, 10}}) != whole);
  CHECK(hash_of(1, {{0, 10}}, "b") != whole);
}

TEST_CASE("there is no hash of weights that were read in part") {
  CHECK(hash_of(1, {}).empty());
  CHECK(hash_of(1, {{0, 9}}).empty());
  CHECK(hash_of(1, {{0, 4}, {5, 10}}).empty());
}

TEST_CASE("values that change places, and zeros in the place of values, change a hash of weights") {
  const auto of = [](const std::vector<float>& values) {
    const WeightsHash hash;
    read(hash.over([&](const Parameter&, const Interval& range, float* out) {
      std::memcpy(out, values.data() + range.begin, static_cast<size_t>(range.length()) * sizeof(float));
    }),
         {{0, 10}});
    return hash.text();
  };
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<float> swapped = values, cleared = values;
  std::swap(swapped[2], swapped[7]);
  cleared[4] = 0;
  CHECK(of(swapped) != of(values));
  CHECK(of(cleared) != of(values));
  CHECK(of(swapped) != of(cleared));
}

}  // namespace
}  // namespace headroom
