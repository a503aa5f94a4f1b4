#include "decoder/lowering/attention.h"

#include <algorithm>

namespace headroom {

AttentionWork attention_work(int64_t queries, int64_t keys, int64_t channels) {
  // Measured at 512 channels: the scores of a block and a panel of keys fit the second-level cache together,
  // and larger ones are no faster.
  constexpr int64_t kChunk = 512, kBlock = 96;
  return {queries, std::min(keys, kChunk), std::min(queries, kBlock), channels};
}

}  // namespace headroom
