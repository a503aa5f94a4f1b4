#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "tests/support/random.h"

// Runs ranks as threads of one process. The network between them is slow and reorders messages of different
// pairs. It reads send buffers only at delivery, and fills receive buffers with NaNs until then.
namespace headroom::test {

class InProcessNetwork {
 public:
  InProcessNetwork(int32_t ranks, uint64_t seed,
                   std::chrono::microseconds latest = std::chrono::microseconds(300))
      : random_(seed), latest_(latest), gathered_(static_cast<size_t>(ranks)) {
    for (int32_t rank = 0; rank < ranks; ++rank) ranks_.push_back(std::make_unique<Rank>(*this, rank));
    deliverer_ = std::thread([this] { deliver(); });
  }
  ~InProcessNetwork() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    deliverer_.join();
  }
  InProcessNetwork(const InProcessNetwork&) = delete;
  InProcessNetwork& operator=(const InProcessNetwork&) = delete;

  Exchange& of(int32_t rank) { return *ranks_[static_cast<size_t>(rank)]; }
  /// Maximum time that a rank waits for another.
  std::chrono::milliseconds timeout{20'000};

 private:
  /// Send or receive half of a message.
  struct Side {
    Exchange::Ticket ticket = 0;
    std::vector<Span> spans;
  };
  struct Pair {
    std::deque<Side> sent, awaited;
  };

  class Rank final : public Exchange {
   public:
    Rank(InProcessNetwork& network, int32_t rank) : network_(network), rank_(rank) {}
    int32_t rank() const override { return rank_; }
    int32_t size() const override { return static_cast<int32_t>(network_.ranks_.size()); }
    Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override {
      Posted posted;
      for (const Message& message : receives) {
        for (const Span& span : message.spans) std::memset(span.data, 0xff, static_cast<size_t>(span.bytes));
        posted.receives.push_back(network_.add(message.peer, rank_, message, false));
      }
      for (const Message& message : sends) {
        count_sent(bytes_of(message));
        posted.sends.push_back(network_.add(rank_, message.peer, message, true));
      }
      return posted;
    }
    void wait(Ticket ticket) override { network_.wait(ticket); }
    std::vector<std::vector<double>> gather(const std::vector<double>& own) override {
      count_sent(static_cast<int64_t>(own.size() * sizeof(double)) * (size() - 1));
      return network_.gather(rank_, own);
    }
    void abandon(const char* why) noexcept override { network_.abandon(rank_, why); }
    void drop() noexcept override { network_.drop(rank_); }

   private:
    InProcessNetwork& network_;
    const int32_t rank_;
  };

  Exchange::Ticket add(int32_t from, int32_t to, const Message& message, bool sent) {
    const std::lock_guard lock(mutex_);
    if (!abandoned_.empty()) throw ExchangeError(abandoned_);
    if (pairs_.empty()) pairs_.resize(ranks_.size() * ranks_.size());
    Pair& pair = pairs_[static_cast<size_t>(from) * ranks_.size() + static_cast<size_t>(to)];
    const Exchange::Ticket ticket = static_cast<Exchange::Ticket>(done_.size());
    done_.push_back(false);
    (sent ? pair.sent : pair.awaited).push_back({ticket, message.spans});
    changed_.notify_all();
    return ticket;
  }

  template <typename Ready>
  void until(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    const bool in_time = changed_.wait_for(lock, timeout, [&] { return ready() || !abandoned_.empty(); });
    if (ready()) return;
    throw ExchangeError(in_time ? abandoned_ : "no answer");
  }
  void wait(Exchange::Ticket ticket) {
    std::unique_lock lock(mutex_);
    until(lock, [&] { return bool(done_[static_cast<size_t>(ticket)]); });
  }
  std::vector<std::vector<double>> gather(int32_t rank, const std::vector<double>& own) {
    std::unique_lock lock(mutex_);
    std::deque<std::vector<double>>& mine = gathered_[static_cast<size_t>(rank)];
    const size_t number = mine.size();
    mine.push_back(own);
    changed_.notify_all();
    until(lock, [&] {
      for (const auto& of_rank : gathered_) {
        if (of_rank.size() <= number) return false;
      }
      return true;
    });
    std::vector<std::vector<double>> all;
    for (const auto& of_rank : gathered_) all.push_back(of_rank[number]);
    return all;
  }
  void abandon(int32_t rank, const char* why) noexcept {
    const std::lock_guard lock(mutex_);
    if (abandoned_.empty()) abandoned_ = "rank " + std::to_string(rank) + " ended: " + why;
    pairs_.clear();  // buffers of pending messages are not touched any more
    changed_.notify_all();
  }

  void drop(int32_t rank) noexcept {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (i / ranks_.size() == static_cast<size_t>(rank)) pairs_[i].sent.clear();
      if (i % ranks_.size() == static_cast<size_t>(rank)) pairs_[i].awaited.clear();
    }
  }

  void deliver() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      std::vector<Pair*> ready;
      for (Pair& pair : pairs_) {
        if (!pair.sent.empty() && !pair.awaited.empty()) ready.push_back(&pair);
      }
      if (ready.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto late = std::chrono::microseconds(random_.integer(0, latest_.count()));
      const auto chosen = static_cast<size_t>(random_.integer(0, static_cast<int64_t>(ready.size()) - 1));
      lock.unlock();
      std::this_thread::sleep_for(late);
      lock.lock();
      if (!pairs_.empty()) hand_over(*ready[chosen]);
    }
  }
  void hand_over(Pair& pair) {
    if (pair.sent.empty() || pair.awaited.empty()) return;  // dropped in the meantime
    const Side &from = pair.sent.front(), &to = pair.awaited.front();
    if (from.spans.size() != to.spans.size()) return fail("messages of other lengths");
    for (size_t i = 0; i < from.spans.size(); ++i) {
      if (from.spans[i].bytes != to.spans[i].bytes) return fail("spans of other lengths");
      std::memcpy(to.spans[i].data, from.spans[i].data, static_cast<size_t>(from.spans[i].bytes));
    }
    done_[static_cast<size_t>(from.ticket)] = done_[static_cast<size_t>(to.ticket)] = true;
    pair.sent.pop_front();
    pair.awaited.pop_front();
    changed_.notify_all();
  }
  void fail(const char* why) {
    abandoned_ = why;
    pairs_.clear();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Random random_;
  const std::chrono::microseconds latest_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<Pair> pairs_;  ///< by sender, then by receiver
  std::vector<bool> done_;   ///< by ticket
  std::vector<std::deque<std::vector<double>>> gathered_;
  std::string abandoned_;
  bool over_ = false;
  std::thread deliverer_;
};

}  // namespace headroom::test
