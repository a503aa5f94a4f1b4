#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decoder/exchange/c10d/rank_board.h"
#include "decoder/exchange/open_exchange.h"

namespace headroom {

/// Base class of exchanges over c10d backends. It handles rendezvous, waits that end when a rank fails, and
/// shutdown. Three threads take part:
///
///     caller's thread   waits in c10d; throws when the wait is stopped
///     judge             watches the board; if rank 2 stands still, posts the failure and stops the wait
///     board             writes this rank's line to the store; reads the other lines and the failure
class C10dExchange : public Exchange {
 public:
  int32_t rank() const override { return options_.ranks.rank; }
  int32_t size() const override { return options_.ranks.ranks; }
  void working() noexcept override { board_->count_work(); }
  void abandon(const char* why) noexcept override;

 protected:
  /// Meets the other ranks through the store. Throws ExchangeError.
  explicit C10dExchange(const ExchangeOptions& options);
  ~C10dExchange() override;

  const ExchangeOptions& options() const { return options_; }
  RankBoard::Seconds timeout() const { return RankBoard::Seconds(options_.timeout_seconds); }
  /// The store for a backend's own use.
  c10::intrusive_ptr<c10d::Store> backend_store() const;

  /// Runs `wait`, which blocks until `peer` has done its part, until another thread calls `stop`, or until it
  /// throws. `wait` returns true if it completed. Throws ExchangeError otherwise.
  void wait_for(int32_t peer, const std::function<bool()>& wait, const std::function<void()>& stop);
  /// Runs a non-blocking call of c10d. Converts its errors to ExchangeError.
  void attempt(int32_t peer, const std::function<void()>& body);
  /// Throws if a rank has failed.
  void require_no_failure();
  /// Reports to the other ranks that this rank cannot open its backend. Throws the first failure of any
  /// rank.
  [[noreturn]] void fail_to_open(const std::exception& error);
  /// Call it before destroying the backend. It blocks until no other rank needs the backend.
  void leave() noexcept;

 private:
  struct Beat {
    int64_t beat;
    double at;  ///< time when it was first seen, in seconds
  };
  bool may_leave(const RankBoard::View& view, std::vector<Beat>& beats, double now) const;
  bool has_failed();
  void judge();
  std::optional<std::string> verdict();
  [[noreturn]] void fail(const std::string& line);
  [[noreturn]] void fail_with(int32_t peer, const std::string& error);
  bool keeps_store() const;
  std::string store_keeper() const;

  const ExchangeOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::unique_ptr<RankBoard> board_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Silence> silence_;  ///< set during a wait
  const std::function<void()>* stop_wait_ = nullptr;
  std::optional<std::string> failure_;  ///< reason why this exchange ended
  bool end_ = false;
  std::thread judge_;
};

/// Returns the first line of a c10d error, without its stack trace.
std::string one_line(const std::exception& error);

}  // namespace headroom
