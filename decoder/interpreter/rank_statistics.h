#pragma once

#include <vector>

// Merges the statistics of two ranks, given as numbers. Every rank merges in rank order. So the result is
// identical on all ranks and does not depend on timing.
namespace headroom {

/// Merges triples of count, mean and squared differences (decoder/base/moments.h).
std::vector<double> merged_moments(const std::vector<double>& a, const std::vector<double>& b);
/// Adds sums, one by one.
std::vector<double> summed(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom
