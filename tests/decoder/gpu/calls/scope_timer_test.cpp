#include "decoder/gpu/calls/scope_timer.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

namespace headroom::gpu {
namespace {

/// A clock that is put on by hand, and streams that come to their stamps when they are told to.
class HandClock final : public Stamps {
 public:
  double now = 0;
  bool done = false;  ///< with all that was given so far
  std::set<int64_t> held;

  Stamp stamp(Stream) override {
    times_.push_back(now);
    held.insert(static_cast<int64_t>(times_.size()) - 1);
    return Stamp{static_cast<int64_t>(times_.size()) - 1};
  }
  bool passed(Stamp) override { return done; }
  double seconds_between(Stamp first, Stamp second) override {
    REQUIRE(held.count(static_cast<int64_t>(first)) == 1);
    REQUIRE(held.count(static_cast<int64_t>(second)) == 1);
    return times_[static_cast<size_t>(second)] - times_[static_cast<size_t>(first)];
  }
  void forget(Stamp stamp) override { REQUIRE(held.erase(static_cast<int64_t>(stamp)) == 1); }
  size_t stamps() const { return times_.size(); }

 private:
  std::vector<double> times_;
};

double of(const ScopeSeconds& seconds, TimeScope scope) {
  return seconds[static_cast<size_t>(scope)];
}

TEST_CASE("time goes to the work that runs, copies beside it") {
  HandClock clock;
  ScopeTimer timer(clock);
  timer.restart();
  timer.compute(TimeScope::waiting);
  clock.now = 1;
  timer.compute(TimeScope::convolution);
  clock.now = 4;
  const size_t stamps = clock.stamps();
  timer.compute(TimeScope::convolution);  // goes on
  CHECK(clock.stamps() == stamps);
  clock.now = 6;
  const auto copy = timer.begin_copy(Stream::to_host);
  CHECK(clock.stamps() == stamps + 1);
  timer.compute(TimeScope::attention);
  clock.now = 16;
  timer.end_copy(Stream::to_host, copy);
  timer.compute(TimeScope::elementwise);
  clock.now = 16.5;
  clock.done = true;
  const ScopeSeconds seconds = timer.seconds();
  CHECK(of(seconds, TimeScope::waiting) == 1);
  CHECK(of(seconds, TimeScope::convolution) == 5);
  CHECK(of(seconds, TimeScope::attention) == 10);
  CHECK(of(seconds, TimeScope::elementwise) == 0.5);
  CHECK(of(seconds, TimeScope::copies) == 10);

  timer.restart();
  timer.compute(TimeScope::attention);
  clock.now = 17;
  const ScopeSeconds again = timer.seconds();
  CHECK(of(again, TimeScope::attention) == 0.5);
  CHECK(of(again, TimeScope::convolution) == 0);
}

TEST_CASE("a long decode holds few stamps, and none at its end") {
  HandClock clock;
  clock.done = true;
  double spent = 0;
  {
    ScopeTimer timer(clock);
    timer.restart();
    for (int i = 0; i < 10'000; ++i) {
      timer.compute(i % 2 == 0 ? TimeScope::convolution : TimeScope::elementwise);
      const auto copy = timer.begin_copy(Stream::from_host);
      clock.now += 0.25;
      timer.end_copy(Stream::from_host, copy);
      REQUIRE(clock.held.size() < 1000);
    }
    const ScopeSeconds seconds = timer.seconds();
    for (const double scope : seconds) spent += scope;
    CHECK(of(seconds, TimeScope::copies) == 2500);
  }
  CHECK(spent == 5000);
  CHECK(clock.held.empty());
}

TEST_CASE("every call belongs to a scope") {
  CHECK(scope_of(Convolve{}) == TimeScope::convolution);
  CHECK(scope_of(Attend{}) == TimeScope::attention);
  CHECK(scope_of(AddKeyValueSums{}) == TimeScope::attention);
  CHECK(scope_of(Normalise{}) == TimeScope::elementwise);
  CHECK(scope_of(AddMoments{}) == TimeScope::elementwise);
}

}  // namespace
}  // namespace headroom::gpu
