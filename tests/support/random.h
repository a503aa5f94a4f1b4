#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace headroom::test {

/// Random numbers that are identical on every machine for one seed. The standard distributions are not
/// portable.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  /// Uniform integer from `least` to `most`, inclusive.
  int64_t integer(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine_() % static_cast<uint64_t>(most - least + 1));
  }
  double uniform(double low, double high) { return low + (high - low) * (double(engine_() >> 11) * 0x1p-53); }
  bool chance(double probability) { return uniform(0, 1) < probability; }
  template <typename T>
  T pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(integer(0, static_cast<int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace headroom::test
