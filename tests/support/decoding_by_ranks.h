#pragma once

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "decoder/plan/ranked_plan.h"
#include "tests/support/decoding.h"
#include "tests/support/ranks_in_process.h"

namespace headroom::test {

/// Hands on what one rank makes; the picture is whole when all have.
class RankSink final : public PictureSink {
 public:
  RankSink(PictureSink& whole, std::mutex& mutex)
      : PictureSink(whole.shape()), whole_(whole), mutex_(mutex) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    const std::lock_guard lock(mutex_);
    whole_.write(item, region, pixels);
  }
  void complete() override {}

  PictureSink& whole_;
  std::mutex& mutex_;
};

struct DecodedByRanks {
  Array picture;
  std::vector<RunStats> stats;      ///< by rank
  std::vector<int64_t> sent_bytes;  ///< the same
};

/// Decodes into memory, each rank in a thread of its own. Throws what the first rank threw.
inline DecodedByRanks decode_by_ranks(const Model& model, const RankedPlan& plan,
                                      const ParameterSource& weights, const Array& latent, uint64_t seed) {
  start_libraries(1);
  MemorySink sink(picture_shape(model, plan.request));
  std::mutex mutex;
  const size_t ranks = plan.plans.size();
  DecodedByRanks decoded{{}, std::vector<RunStats>(ranks), std::vector<int64_t>(ranks)};
  std::vector<std::exception_ptr> thrown(ranks);
  {
    InProcessNetwork network(static_cast<int32_t>(ranks), seed);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Exchange& exchange = network.of(static_cast<int32_t>(rank));
        try {
          RankSink own(sink, mutex);
          const RankLink link{exchange, plan.transfers};
          DecodeHooks hooks;
          hooks.link = &link;
          decoded.stats[rank] = decode(model, plan.plans[rank], weights, latent, own, hooks);
        } catch (const std::exception& error) {
          thrown[rank] = std::current_exception();
          exchange.abandon(error.what());
        }
        decoded.sent_bytes[rank] = exchange.sent_bytes();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const std::exception_ptr& error : thrown) {
    if (error) std::rethrow_exception(error);
  }
  sink.finish();
  REQUIRE(sink.overwritten == 0);
  decoded.picture = std::move(sink.picture);
  return decoded;
}

}  // namespace headroom::test
