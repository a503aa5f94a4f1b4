#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "decoder/session/progress_events.h"

namespace headroom {
namespace {

constexpr auto kNap = std::chrono::milliseconds(20);

class SlowSink final : public PictureSink {
 public:
  using PictureSink::PictureSink;
  int written = 0;

 private:
  void put(int64_t, const Region&, const float*) override {
    std::this_thread::sleep_for(kNap);
    ++written;
  }
  void complete() override {}
};

class NoProgress final : public Progress {
  void tell(const ProgressNews&) override {}
};

Region row(int64_t y) {
  return {{0, 1}, {y, y + 1}, {0, 1}};
}

TEST_CASE("a decode stands still for what its own thread writes, not for what another does") {
  NoProgress progress;
  ProgressEvents events(progress);
  SlowSink slow({1, 1, 1, 3, 1});
  ReportedSink reported(slow, events);
  const float pixel = 0;
  std::thread([&] { reported.write(0, row(0), &pixel); }).join();
  CHECK(slow.written == 1);
  CHECK(reported.waited_seconds() == 0);
  reported.write(0, row(1), &pixel);
  reported.write(0, row(2), &pixel);
  CHECK(slow.written == 3);
  CHECK(reported.waited_seconds() >= 2 * std::chrono::duration<double>(kNap).count());
}

}  // namespace
}  // namespace headroom
