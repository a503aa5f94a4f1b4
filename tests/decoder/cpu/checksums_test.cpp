#include "decoder/cpu/checksums.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "decoder/base/checksum.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/threads.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

uint64_t checksum_of(std::span<const std::byte> bytes) {
  return checksums({bytes}).front();
}

std::vector<float> drawn(test::Random& random, size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

/// Word by word, as the header defines it.
uint64_t expected_of(std::span<const std::byte> bytes) {
  std::vector<uint32_t> words((bytes.size() + kChecksumGroupBytes - 1) / kChecksumGroupBytes *
                              kChecksumWords);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  uint64_t sum = 0;
  for (uint32_t i = 0; i < words.size(); ++i) {
    if (i % kChecksumWords < kChecksumWords / 2)
      sum += checksum_of_pair(words[i], words[i + kChecksumWords / 2], i);
  }
  return sum;
}

}  // namespace

TEST_CASE("checksums: as defined, of any length, at any address, by every instruction set, on any threads") {
  test::Random random(1);
  const std::vector<float> values = drawn(random, 200'000);
  const int threads = thread_count();
  for (const size_t length : {0, 1, 5, 127, 128, 129, 4096, 300'001, 799'990}) {
    for (const size_t offset : {0, 2, 7}) {
      const auto bytes = bytes_of(values).subspan(offset, length);
      for (const int count : {1, 3}) {
        set_thread_count(count);
        CHECK(checksum_of(bytes) == expected_of(bytes));
      }
    }
  }
  set_thread_count(threads);
  const int64_t groups = 1000;
  for (const auto& [name, loops] : kernels::loops_that_run()) {
    INFO(name);
    CHECK(loops->checksum(bytes_of(values).data(), groups, 0) ==
          expected_of(bytes_of(values).first(groups * kChecksumGroupBytes)));
  }
}

TEST_CASE("checksums: one for each stretch") {
  test::Random random(2);
  std::vector<std::vector<float>> all;
  for (int i = 0; i < 50; ++i) all.push_back(drawn(random, static_cast<size_t>(random.integer(0, 9000))));
  std::vector<std::span<const std::byte>> stretches;
  for (const auto& values : all) stretches.push_back(bytes_of(values));
  const std::vector<uint64_t> sums = checksums(stretches);
  REQUIRE(sums.size() == all.size());
  for (size_t i = 0; i < all.size(); ++i) CHECK(sums[i] == expected_of(stretches[i]));
}

TEST_CASE("checksums: changed, negated, exchanged, shifted and reordered values are noticed") {
  test::Random random(3);
  for (const size_t count : {9, 64, 1000, 4608}) {
    const std::vector<float> values = drawn(random, count);
    const uint64_t before = checksum_of(bytes_of(values));
    const auto changes = [&](auto&& change) {
      std::vector<float> changed = values;
      change(changed);
      if (changed != values) CHECK(checksum_of(bytes_of(changed)) != before);
    };
    const auto any = [&] { return static_cast<size_t>(random.integer(0, static_cast<int64_t>(count) - 1)); };
    for (int repeat = 0; repeat < 200; ++repeat) {
      changes([&](std::vector<float>& v) { v[any()] *= -1; });
      changes([&](std::vector<float>& v) { v[any()] += 1e-3f; });
      changes([&](std::vector<float>& v) { std::swap(v[any()], v[any()]); });
      changes([&](std::vector<float>& v) {
        std::rotate(v.begin(), v.begin() + static_cast<int64_t>(any()), v.end());
      });
    }
    changes([](std::vector<float>& v) { std::reverse(v.begin(), v.end()); });
    changes([](std::vector<float>& v) {
      for (float& value : v) value = -value;
    });
    changes([](std::vector<float>& v) {
      for (float& value : v) value *= 2;
    });
    changes([](std::vector<float>& v) { std::sort(v.begin(), v.end()); });
    changes([](std::vector<float>& v) { v.assign(v.size(), 0); });
    changes([](std::vector<float>& v) {
      std::swap_ranges(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2),
                       v.end() - static_cast<int64_t>(v.size() / 2));
    });
    // Rows and columns of kernels of 3×3.
    changes([](std::vector<float>& v) {
      for (size_t i = 0; i + 9 <= v.size(); i += 9)
        std::swap_ranges(v.begin() + int64_t(i), v.begin() + int64_t(i) + 3, v.begin() + int64_t(i) + 6);
    });
    changes([](std::vector<float>& v) {
      for (size_t i = 0; i + 9 <= v.size(); i += 3) std::swap(v[i], v[i + 2]);
    });
  }
}

}  // namespace headroom
