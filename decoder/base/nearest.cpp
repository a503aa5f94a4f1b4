#include "decoder/base/nearest.h"

#include <algorithm>

namespace headroom {

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  std::string found;
  size_t least = SIZE_MAX;
  if (word.size() > 64) return found;  // nobody mistypes that
  for (const std::string& other : words) {
    const size_t distance = edit_distance(word, other);
    const size_t allowed = std::max<size_t>(2, std::max(word.size(), other.size()) / 3);
    if (distance > allowed || distance >= std::max(word.size(), other.size()) || distance >= least) continue;
    found = other;
    least = distance;
  }
  return found;
}

}  // namespace headroom
