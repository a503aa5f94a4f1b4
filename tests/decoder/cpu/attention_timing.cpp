// Times attention on the CPU, for reports/bench/attention.py: attention_timing QUERIES KEYS CHANNELS THREADS.
// After each line on standard input it prints the seconds of one more call, until the input ends.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "decoder/cpu/attention.h"
#include "decoder/cpu/threads.h"
#include "decoder/cpu/tile.h"

namespace headroom {
namespace {

Tile filled(LimitedPool& pool, int64_t positions, int64_t channels) {
  Tile tile = make_tile(pool, {{0, 1}, {0, 1}, {0, positions}}, channels, 1);
  static uint32_t state = 1;
  for (int64_t i = 0; i < tile.value_count(); ++i) {
    state = state * 1664525u + 1013904223u;
    tile.values.get()[i] = (static_cast<float>(state >> 8) * 0x1p-23f - 1) * 1.7f;
  }
  return tile;
}

void time_calls(int64_t queries, int64_t keys, int64_t channels) {
  LimitedPool pool(int64_t{8} << 30);
  const Tile q = filled(pool, queries, channels), k = filled(pool, keys, channels),
             v = filled(pool, keys, channels);
  const Tile result = filled(pool, queries, channels);
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto begun = std::chrono::steady_clock::now();
    attend(pool, {q.view(), k.view(), v.view()}, AttentionFrames::each, result.view(), 1);
    std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << std::endl;
  }
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  headroom::set_thread_count(std::atoi(argv[4]));
  headroom::time_calls(std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]));
}
