#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "tests/support/forwarding_gpu.h"

namespace headroom::test {

/// A GPU that defers all work until the host waits for an event. Then it runs the queue up to that event.
/// Each happened() query runs at most `work_between` queued items.
class LateGpu final : public ForwardingGpu {
 public:
  explicit LateGpu(gpu::Gpu& gpu, int work_between = 0) : ForwardingGpu(gpu), work_between_(work_between) {}

  void release() noexcept override {
    while (!work_.empty()) work();
    gpu_.release();
  }

  void run(const gpu::Call& call) override {
    work_.emplace_back([this, call] { gpu_.run(call); });
  }
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    work_.emplace_back([=, this] { gpu_.copy(stream, to, from, bytes); });
  }
  void clear(void* memory, int64_t bytes) override {
    work_.emplace_back([=, this] { gpu_.clear(memory, bytes); });
  }
  gpu::Event record(gpu::Stream stream) override {
    work_.emplace_back([=, this] { events_.push_back(gpu_.record(stream)); });
    return gpu::Event{recorded_++};
  }
  void wait(gpu::Stream stream, gpu::Event event) override {
    work_.emplace_back([=, this] { gpu_.wait(stream, events_.at(static_cast<size_t>(event))); });
  }
  void wait_on_host(gpu::Event event) override {
    while (!done(event)) work();
  }
  bool happened(gpu::Event event) override {
    for (int i = 0; i < work_between_ && !done(event); ++i) work();
    return done(event);
  }

 private:
  bool done(gpu::Event event) const { return static_cast<size_t>(event) < events_.size(); }
  void work() {
    const std::function<void()> next = std::move(work_.front());
    work_.pop_front();
    next();
  }

  const int work_between_;
  std::deque<std::function<void()>> work_;  ///< queued work
  std::vector<gpu::Event> events_;          ///< the other GPU's events, one for each record that has run
  int64_t recorded_ = 0;
};

}  // namespace headroom::test
