#include "decoder/lowering/attention.h"

#include <algorithm>

namespace headroom {

AttentionWork attention_work(int64_t queries, int64_t keys, int64_t channels) {
  // Measured at 512 channels: the scores of a block and a panel of keys fit the second-level cache together,
  // and larger ones are no faster. Few queries are soon done, and are to take little. Both are multiples of
  // the rows that a product takes at one time.
  constexpr int64_t kChunk = 512, kManyQueries = 768;
  const int64_t block = queries >= kManyQueries ? 96 : 30;
  return {queries, std::min(keys, kChunk), std::min(queries, block), channels, keys > kChunk ? 2 : 1};
}

}  // namespace headroom
