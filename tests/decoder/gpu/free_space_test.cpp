#include "decoder/gpu/free_space.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/support/random.h"

namespace headroom {
namespace {

/// The same, byte by byte.
class FreeBytes {
 public:
  explicit FreeBytes(size_t bytes) : free_(bytes, true) {}

  bool is_free(int64_t offset, int64_t bytes) const {
    for (int64_t i = offset; i < offset + bytes; ++i) {
      if (i >= std::ssize(free_) || !free_[size_t(i)]) return false;
    }
    return true;
  }
  void set(int64_t offset, int64_t bytes, bool is_free) {
    for (int64_t i = offset; i < offset + bytes; ++i) free_[size_t(i)] = is_free;
  }
  struct Gap {
    int64_t begin = 0, bytes = 0;
  };
  std::vector<Gap> gaps() const {
    std::vector<Gap> list;
    for (int64_t i = 0; i < std::ssize(free_); ++i) {
      if (!free_[size_t(i)]) continue;
      if (i == 0 || !free_[size_t(i - 1)]) list.push_back({i, 0});
      ++list.back().bytes;
    }
    return list;
  }

 private:
  std::vector<bool> free_;
};

TEST_CASE("free space: the lowest, highest and smallest gaps are those of a map of bytes") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    FreeSpace space(100);
    FreeBytes bytes(100);
    std::vector<FreeBytes::Gap> taken;
    for (int step = 0; step < 200; ++step) {
      if (!taken.empty() && random.chance(0.45)) {
        const auto i = taken.begin() + random.integer(0, std::ssize(taken) - 1);
        space.give_back(i->begin, i->bytes);
        bytes.set(i->begin, i->bytes, true);
        taken.erase(i);
        continue;
      }
      const int64_t wanted = random.integer(1, 12), with = wanted + random.integer(0, 6);
      std::optional<int64_t> expected, found;
      const std::vector<FreeBytes::Gap> gaps = bytes.gaps();
      switch (random.integer(0, 3)) {
        case 0:
          for (auto gap = gaps.rbegin(); gap != gaps.rend(); ++gap) {
            if (gap->bytes >= wanted) expected = gap->begin;
          }
          found = space.take_lowest(wanted);
          break;
        case 1:
          for (const FreeBytes::Gap& gap : gaps) {
            if (gap.bytes >= with) expected = gap.begin + gap.bytes - with;
          }
          found = space.take_highest(wanted, with);
          break;
        case 2: {
          int64_t fewest = 1000;
          for (const FreeBytes::Gap& gap : gaps) {
            if (gap.bytes < with || gap.bytes >= fewest) continue;
            fewest = gap.bytes;
            expected = gap.begin;
          }
          found = space.take_smallest(wanted, with);
          break;
        }
        default: {
          const int64_t offset = random.integer(0, 95);
          if (bytes.is_free(offset, wanted)) expected = offset;
          found = space.take_at(offset, wanted);
        }
      }
      REQUIRE(found == expected);
      if (!found) continue;
      bytes.set(*found, wanted, false);
      taken.push_back({*found, wanted});
    }
  }
}

}  // namespace
}  // namespace headroom
