#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// A buffer that is live in [begin, end).
struct Buffer {
  int64_t begin = 0, end = 0, bytes = 0;

  bool meets(const Buffer& other) const { return begin < other.end && other.begin < end; }
};

/// The most bytes that are live at one time. No placement takes less.
int64_t most_live_bytes(std::span<const Buffer> buffers);

/// For each buffer, the buffers whose live ranges overlap with its own.
using Overlaps = std::vector<std::vector<int32_t>>;

/// Finds offsets such that buffers that are live at the same time do not overlap.
class BufferPlacement {
 public:
  explicit BufferPlacement(std::span<const Buffer> buffers) : buffers_(buffers) {}

  /// Offsets within `capacity`. Places buffers by first fit in a few orders, then searches
  /// (bounded_search()). Empty if nothing is found within `most_visits` visits of buffers; a CPU core makes
  /// about 200 million a second. Deterministic and independent of earlier calls.
  std::optional<std::vector<int64_t>> in(int64_t capacity, int64_t most_visits);
  /// Offsets with the first buffers fixed at `held`. Uses only first fit.
  std::optional<std::vector<int64_t>> around(std::span<const int64_t> held, int64_t capacity);

 private:
  struct FirstFit {
    int64_t bytes = 0;
    bool is_complete = false;  ///< otherwise `bytes` is a lower bound
    std::vector<int64_t> offsets;
  };
  bool find_overlaps();
  FirstFit first_fit(size_t order, std::span<const int64_t> held, int64_t capacity) const;

  std::span<const Buffer> buffers_;
  std::optional<Overlaps> overlaps_;
  int64_t pairs_ = 0;                 ///< pairs of overlapping buffers
  std::vector<FirstFit> first_fits_;  ///< cached results by order
};

/// Offsets for all buffers within `capacity`. Empty if the search finds none within `most_visits` visits of
/// buffers; a solution may still exist.
///
/// The search places buffers by non-decreasing offset, each as low as the placed buffers allow. A section is
/// a maximal set of buffers that are live at one moment. A lower bound on the height of a section is its
/// floor plus the bytes of its unplaced buffers. If the bound exceeds the capacity, the search backtracks.
/// It splits unplaced buffers into parts that share no section, and solves the parts one by one. After a few
/// thousand placements it restarts with another order of preference. Bounds and orders follow MiniMalloc
/// (Moffitt 2023, doi:10.1145/3623278.3624752).
std::optional<std::vector<int64_t>> bounded_search(std::span<const Buffer> buffers, const Overlaps& overlaps,
                                                   int64_t capacity, int64_t most_visits);

}  // namespace headroom
