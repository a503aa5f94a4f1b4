#include "decoder/cpu/checksums.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "decoder/base/checksum.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/threads.h"

namespace headroom {
namespace {

constexpr int64_t kShareGroups = 2048;
/// Below this, waking other threads takes longer than they save.
constexpr int64_t kWorthThreads = int64_t{1} << 20;

/// A part of a stretch that one thread adds up.
struct Share {
  size_t stretch = 0;
  int64_t begin = 0, end = 0;  ///< groups
};

uint64_t checksum_of(std::span<const std::byte> stretch, const Share& share) {
  const auto whole = static_cast<int64_t>(stretch.size()) / kChecksumGroupBytes;
  const auto add_up = kernels::loops().checksum;
  const int64_t end = std::min(share.end, whole);
  uint64_t sum = end > share.begin ? add_up(stretch.data() + share.begin * kChecksumGroupBytes,
                                            end - share.begin, share.begin)
                                   : 0;
  if (share.end > whole) {
    std::array<std::byte, kChecksumGroupBytes> last{};
    const std::span<const std::byte> rest = stretch.subspan(static_cast<size_t>(whole * kChecksumGroupBytes));
    std::memcpy(last.data(), rest.data(), rest.size());
    sum += add_up(last.data(), 1, whole);
  }
  return sum;
}

}  // namespace

std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) {
  std::vector<Share> shares;
  int64_t bytes = 0;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const auto groups =
        (static_cast<int64_t>(stretches[i].size()) + kChecksumGroupBytes - 1) / kChecksumGroupBytes;
    bytes += groups * kChecksumGroupBytes;
    for (int64_t begin = 0; begin < groups; begin += kShareGroups)
      shares.push_back({i, begin, std::min(groups, begin + kShareGroups)});
  }
  std::vector<std::atomic<uint64_t>> sums(stretches.size());
  const auto all = static_cast<int64_t>(shares.size());
  parallel_for(0, all, bytes < kWorthThreads ? all : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Share& share = shares[static_cast<size_t>(i)];
      sums[share.stretch] += checksum_of(stretches[share.stretch], share);
    }
  });
  return {sums.begin(), sums.end()};
}

}  // namespace headroom
