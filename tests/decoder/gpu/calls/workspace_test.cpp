#include "decoder/gpu/calls/workspace.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

constexpr int64_t mebibytes(int64_t count) {
  return count << 20;
}
/// Multiprocessors of cards: A100, H100 of both kinds, consumer and workstation cards, B200.
constexpr int64_t kCards[] = {108, 114, 128, 132, 142, 144, 148, 170};

int64_t tiles(int64_t rows, int64_t columns) {
  return ((rows + 127) / 128) * ((columns + 127) / 128);
}

TEST_CASE("workspace of attention by chunks") {
  // SDXL at 1024×1024: two buffers of 8448 × 1024 scores, as many sums of 512 channels.
  const int64_t bytes = attention_workspace_bytes(16384, 16384, 512);
  CHECK(bytes > mebibytes(90));
  CHECK(bytes < mebibytes(91));
  // A few rows of queries take little.
  CHECK(attention_workspace_bytes(128, 16384, 512) < mebibytes(11));

  const AttentionChunks full = attention_chunks(16384, 16384, 512, bytes, 132);
  CHECK(full.queries == 8448);
  CHECK(full.keys == 1024);
  CHECK(full.buffers == 2);
  const AttentionChunks less = attention_chunks(16384, 16384, 512, mebibytes(24), 132);
  CHECK(less.queries == 1056);
  CHECK(less.keys == 1024);
  CHECK(less.layout(512).end <= mebibytes(24));
  CHECK(attention_chunks(16384, 16384, 512, mebibytes(8), 132).queries == 0);
}

TEST_CASE("with ample workspace both products of attention fill a card, in whole waves") {
  for (const int64_t processors : kCards) {
    for (const int64_t channels : {384, 512, 1024}) {
      for (const int64_t positions : {65536, 262144, 1048576}) {
        CAPTURE(processors, channels, positions);
        const int64_t bytes = attention_workspace_bytes(positions, positions, channels);
        const AttentionChunks chunks = attention_chunks(positions, positions, channels, bytes, processors);
        const int64_t of_scores = tiles(chunks.queries, chunks.keys),
                      of_sums = tiles(chunks.queries, channels);
        CHECK(of_scores >= 2 * processors);
        const int64_t waves = processors > 132 ? 1 : 2;
        CHECK(of_sums >= waves * processors);
        CHECK(of_sums <= waves * processors + channels / 128);
      }
    }
  }
}

TEST_CASE("attention's chunks fit the workspace that is planned, which grows with queries and keys") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{200}));
  test::Random random(seed);
  const int64_t queries = random.integer(1, random.pick<int64_t>({100, 5000, 70000})),
                keys = random.integer(1, random.pick<int64_t>({100, 3000, 70000})),
                channels = random.pick<int64_t>({1, 8, 100, 384, 512, 1024}),
                processors = random.pick<int64_t>({1, 20, 108, 114, 132, 148, 170});
  CAPTURE(seed, queries, keys, channels, processors);
  const auto bytes = [&](int64_t some_queries, int64_t some_keys) {
    return attention_workspace_bytes(some_queries, some_keys, channels);
  };
  const int64_t whole = bytes(queries, keys);
  const AttentionChunks chunks = full_attention_chunks(queries, keys, channels, processors);
  CHECK(chunks.layout(channels).end <= whole);
  CHECK(chunks.queries <= queries);
  CHECK(chunks.keys <= keys);
  CHECK((chunks.buffers == 2) == (chunks.keys < keys));
  // Each of several frames is cut alike, in the workspace for the keys of all.
  const int64_t frames = random.integer(2, 40);
  const AttentionChunks of_several = full_attention_chunks(queries, keys, channels, processors, frames);
  CHECK(of_several.queries == chunks.queries);
  CHECK(of_several.keys == chunks.keys);
  CHECK(of_several.buffers == 2);
  CHECK(of_several.layout(channels).end <= bytes(queries, frames * keys));
  const int64_t fewer_queries = random.integer(1, queries), fewer_keys = random.integer(1, keys);
  CHECK(bytes(fewer_queries, fewer_keys) <= whole);
  CHECK(bytes(queries + 1, keys) >= whole);
  CHECK(bytes(queries, keys + 1) >= whole);

  const int64_t given = random.integer(0, whole);
  const AttentionChunks fitting = attention_chunks(queries, keys, channels, given, processors);
  if (fitting.queries > 0) CHECK(fitting.layout(channels).end <= given);
}

}  // namespace
}  // namespace headroom::gpu
