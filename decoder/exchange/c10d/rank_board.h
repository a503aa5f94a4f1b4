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

/// What all ranks know of each other: a line for each in c10d's store, which it writes anew several times a
/// second, and the line of the first failure. A thread of its own talks to the store, since that does not
/// answer where the machine that keeps it has stopped; nobody else waits for it.
class RankBoard {
 public:
  using Seconds = std::chrono::duration<double>;

  /// Meets the others: returns when all ranks have written their lines. Throws ExchangeError naming those who
  /// have not within the timeout. Calls `check` in between, and throws what that throws.
  RankBoard(c10::intrusive_ptr<c10d::Store> store, int32_t rank, int32_t size, Seconds timeout,
            const std::function<void()>& check);
  ~RankBoard();
  RankBoard(const RankBoard&) = delete;
  RankBoard& operator=(const RankBoard&) = delete;

  /// What this rank tells; its beat is counted here.
  void tell(int32_t waits_for, bool left = false);
  void count_work();

  /// As last read: the state of every rank, and why one of them has failed.
  struct View {
    std::vector<RankState> states;
    std::optional<std::string> failure;
    bool lost = false;          ///< whoever kept the store has ended
    double silent_seconds = 0;  ///< the store has not answered for as long
  };
  View view() const;

  /// Writes the line of a failure, unless there is one, and returns the one that stands then. Waits for the
  /// store for a second at most.
  std::string fail(const std::string& line);
  /// The line of a failure, read anew.
  std::optional<std::string> failure_now();

 private:
  struct Shared;
  static void talk(const std::shared_ptr<Shared>& shared);
  /// Until the store has been asked once more from now on, or a second has gone by.
  void ask_again();

  std::shared_ptr<Shared> shared_;  ///< outlives this where the store no longer answers
  std::thread thread_;
};

}  // namespace headroom
