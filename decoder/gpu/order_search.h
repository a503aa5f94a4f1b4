#pragma once

#include <limits>
#include <random>

#include "decoder/gpu/live_range.h"
#include "decoder/gpu/neighbours.h"
#include "decoder/gpu/placement.h"

namespace headroom {

/// Looks for an order of importance in which each request, taking the lowest gap between those that are live
/// with it, leaves few bytes between them.
class OrderSearch {
 public:
  /// All of the same requests, and all must outlive it.
  OrderSearch(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
              const Neighbours& neighbours);

  /// Makes `best` better, and stops where it needs `good_bytes` or less. It does much less where `best` needs
  /// `enough_bytes` or less. Deterministic.
  void improve(Placement& best, int64_t good_bytes, int64_t enough_bytes);

 private:
  /// Requests by falling importance.
  using Order = std::vector<int32_t>;

  /// An order that is tried, and changed from round to round.
  struct Candidate {
    Order order;
    std::vector<int64_t> offsets;  ///< of the last round
    std::vector<bool> moves;       ///< by request: its offset may be another in the round to come
    int64_t bytes = 0;             ///< of the last round
    int64_t least_bytes = std::numeric_limits<int64_t>::max();  ///< of all rounds
  };

  Candidate candidate_of(Order order) const;
  std::vector<Order> first_orders() const;
  /// Each request takes the lowest gap that those before it leave; what cannot move stays. False, and nothing
  /// is known, where more than `most_bytes` are needed.
  bool place(Candidate& candidate, int64_t most_bytes);
  /// Places all requests in the order in which they come. Earlier neighbours of a request are those that are
  /// live when it comes, so none needs to be looked for.
  bool place_as_they_come(Candidate& candidate, int64_t most_bytes);
  void measure(Candidate& candidate) const;
  int64_t lowest_gap(size_t request, const Candidate& candidate);
  void promote(Candidate& candidate, std::minstd_rand& random) const;

  const MemoryRequests& requests_;
  const std::vector<LiveRange>& ranges_;
  const Neighbours& neighbours_;
  const std::vector<int64_t> live_;  ///< after each event
  int64_t live_bytes_ = 0;           ///< the most of them
  std::vector<int32_t> ranks_;       ///< in the order that is being placed
  int64_t visits_ = 0;               ///< of neighbours, so far
  struct Taken {
    int64_t begin = 0, end = 0;
  };
  std::vector<Taken> taken_, spare_;  ///< while one request is placed
};

}  // namespace headroom
