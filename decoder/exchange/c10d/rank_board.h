#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decoder/exchange/silence.h"

namespace headroom {

/// Shared state of all ranks in c10d's store. Each rank rewrites its own line several times a second, and one
/// more line describes the first failure. A separate thread talks to the store, which does not answer if its
/// machine has stopped. No other thread blocks on the store.
class RankBoard {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Returns when all ranks have written their lines. Throws ExchangeError naming the ranks that have not
  /// done so within the timeout. Calls `check` while it waits, and lets its exceptions through.
  RankBoard(c10::intrusive_ptr<c10d::Store> store, int32_t rank, int32_t size, Seconds timeout,
            const std::function<void()>& check);
  ~RankBoard();
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  /// Sets the state that this rank publishes. The board itself counts the beat.
  void tell(int32_t waits_for, bool left = false);
  void count_work();

  /// Last known state of every rank, and the first failure.
  struct View {
    std::vector<RankState> states;
    std::optional<std::string> failure;
    bool lost = false;          ///< the process with the store has ended
    double silent_seconds = 0;  ///< time since the store's last answer
  };
  View view() const;

  /// Writes a failure to the store, unless there is one. Returns the first failure. Blocks for at most a
  /// second.
  std::string fail(const std::string& line);
  /// Reads the failure from the store again.
  std::optional<std::string> failure_now();

 private:
  struct Shared;
  static void talk(const std::shared_ptr<Shared>& shared);
  /// Blocks until the thread has read the store once more, for at most a second.
  void ask_again();

  std::shared_ptr<Shared> shared_;  ///< outlives this object if the store no longer answers
  std::thread thread_;
};

}  // namespace headroom
