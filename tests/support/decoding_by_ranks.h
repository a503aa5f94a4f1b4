#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "decoder/plan/plan.h"
#include "tests/support/decoding.h"
#include "tests/support/ranks_in_process.h"

namespace headroom::test {

/// Forwards one rank's rows to the shared sink. The caller finishes that sink after all ranks end.
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

/// GPU that a rank decodes on, and its connection to the other ranks.
struct OnRank {
  gpu::Gpu* gpu = nullptr;  ///< for plans for a GPU
  /// Wraps the rank's connection to the network. Unset: the rank uses the network directly.
  std::function<std::unique_ptr<Exchange>(Exchange& network)> exchange{};
};

struct DecodedByRanks {
  Array picture;
  std::vector<RunStats> stats;             ///< by rank
  std::vector<int64_t> sent_bytes;         ///< by rank
  std::vector<std::exception_ptr> thrown;  ///< by rank; null if the rank succeeded
};

/// Decodes into memory, with one thread per rank. `on` has one entry per rank, or is empty.
inline DecodedByRanks try_by_ranks(const Model& model, const Plans& plan, const ParameterSource& weights,
                                   const Array& latent, uint64_t seed, const std::vector<OnRank>& on = {}) {
  start_libraries(1);
  MemorySink sink(picture_shape(model, plan.request));
  std::mutex mutex;
  const size_t ranks = plan.plans.size();
  DecodedByRanks decoded{
      {}, std::vector<RunStats>(ranks), std::vector<int64_t>(ranks), std::vector<std::exception_ptr>(ranks)};
  {
    InProcessNetwork network(static_cast<int32_t>(ranks), seed);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const OnRank own = on.empty() ? OnRank{} : on[rank];
        Exchange& to_network = network.of(static_cast<int32_t>(rank));
        const std::unique_ptr<Exchange> between = own.exchange ? own.exchange(to_network) : nullptr;
        Exchange& exchange = between ? *between : to_network;
        try {
          RankSink rows(sink, mutex);
          const RankLink link{exchange, plan.transfers};
          DecodeHooks hooks;
          hooks.link = &link;
          hooks.gpu = own.gpu;
          decoded.stats[rank] = decode(model, plan.plans[rank], weights, latent, rows, hooks);
        } catch (const std::exception& error) {
          decoded.thrown[rank] = std::current_exception();
          exchange.abandon(error.what());
        }
        decoded.sent_bytes[rank] = exchange.sent_bytes();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  for (const std::exception_ptr& error : decoded.thrown) {
    if (error) return decoded;
  }
  sink.finish();
  REQUIRE(sink.overwritten == 0);
  decoded.picture = std::move(sink.picture);
  return decoded;
}

/// Like try_by_ranks(), but rethrows the error of the first rank that failed.
inline DecodedByRanks decode_by_ranks(const Model& model, const Plans& plan, const ParameterSource& weights,
                                      const Array& latent, uint64_t seed,
                                      const std::vector<OnRank>& on = {}) {
  DecodedByRanks decoded = try_by_ranks(model, plan, weights, latent, seed, on);
  for (const std::exception_ptr& error : decoded.thrown) {
    if (error) std::rethrow_exception(error);
  }
  return decoded;
}

}  // namespace headroom::test
