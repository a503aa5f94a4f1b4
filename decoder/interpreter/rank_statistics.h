#pragma once

#include <vector>

// Statistics of several ranks, as numbers, merged two by two. Ranks do so in the order of their numbers, so
// that results depend on no timing and all ranks have the same.
namespace headroom {

/// Merges triples of count, mean and squared differences (decoder/graph/moments.h).
std::vector<double> merged_moments(const std::vector<double>& a, const std::vector<double>& b);
/// Adds sums, one by one.
std::vector<double> summed(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace headroom
