#include "decoder/cpu/chunk_pipeline.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "decoder/cpu/threads.h"

namespace headroom {
namespace {

/// Pieces of work as they begin and end, in one order for all threads. Each piece takes a drawn time, so that
/// threads get ahead of each other.
class Log {
 public:
  struct Span {
    int begun = 0, ended = 0;
  };
  using Pieces = std::map<std::pair<int64_t, int64_t>, Span>;

  explicit Log(unsigned seed) : random_(seed) {}

  ChunkPipeline::Work into(Pieces& pieces) {
    return [this, &pieces](int64_t chunk, int64_t number) {
      std::unique_lock lock(mutex_);
      Span& span = pieces[{chunk, number}];
      CHECK(span.begun == 0);  // once
      span.begun = ++clock_;
      const std::chrono::microseconds time(random_() % 300);
      lock.unlock();
      std::this_thread::sleep_for(time);
      lock.lock();
      span.ended = ++clock_;
    };
  }

 private:
  std::mutex mutex_;
  std::mt19937 random_;
  int clock_ = 0;
};

}  // namespace

TEST_CASE("pipeline: every piece of work begins after what it needs has ended") {
  const int threads_before = thread_count();
  for (unsigned seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    const auto drawn = [&](unsigned salt, int64_t most) { return 1 + (seed * 7 + salt) % most; };
    const int64_t chunks = drawn(1, 5), parts = drawn(3, 4), blocks = drawn(5, 6);
    set_thread_count(1 + static_cast<int>(seed % 4));
    Log log(seed);
    Log::Pieces packed, added;
    ChunkPipeline(chunks, parts, blocks).run(log.into(packed), log.into(added));
    REQUIRE(packed.size() == static_cast<size_t>(chunks * parts));
    REQUIRE(added.size() == static_cast<size_t>(chunks * blocks));
    for (const auto& [piece, span] : packed) {
      for (int64_t block = 0; piece.first >= 2 && block < blocks; ++block)
        CHECK(added.at({piece.first - 2, block}).ended < span.begun);
    }
    for (const auto& [piece, span] : added) {
      for (int64_t part = 0; part < parts; ++part) CHECK(packed.at({piece.first, part}).ended < span.begun);
      if (piece.first > 0) CHECK(added.at({piece.first - 1, piece.second}).ended < span.begun);
    }
  }
  set_thread_count(threads_before);
}

TEST_CASE("pipeline: a piece of work that fails ends all threads, and is what is thrown") {
  const int threads_before = thread_count();
  set_thread_count(3);
  const auto nothing = [](int64_t, int64_t) {};
  const auto fail_in_second_chunk = [](int64_t chunk, int64_t number) {
    if (chunk == 1 && number == 2) throw std::runtime_error("refused");
  };
  CHECK_THROWS_WITH(ChunkPipeline(4, 3, 3).run(fail_in_second_chunk, nothing), "refused");
  CHECK_THROWS_WITH(ChunkPipeline(4, 3, 3).run(nothing, fail_in_second_chunk), "refused");
  set_thread_count(threads_before);
}

}  // namespace headroom
