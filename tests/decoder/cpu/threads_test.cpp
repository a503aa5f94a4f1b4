#include "decoder/cpu/threads.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

/// While it lives, no thread that is started gets its stack: no machine has so much address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t changed;
    pthread_getattr_default_np(&before_);
    pthread_attr_init(&changed);
    pthread_attr_setstacksize(&changed, size_t{1} << 50);
    refused_ = pthread_setattr_default_np(&changed) == 0;
    pthread_attr_destroy(&changed);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  bool refused() const { return refused_; }

 private:
  pthread_attr_t before_;
  bool refused_ = false;
};

/// So many threads for calls from this thread while it lives.
class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) { set_thread_count(count); }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// How often each of [0, count) was worked on.
std::vector<int> touched(int64_t count, int64_t grain) {
  std::vector<int> times(static_cast<size_t>(count), 0);
  const int threads = thread_count();
  std::vector<std::atomic<int>> inside(static_cast<size_t>(threads));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    const int number = thread_number();
    if (thread_count() != threads) throw std::logic_error("another number of threads inside");
    if (number < 0 || number >= threads || ++inside[static_cast<size_t>(number)] > 1)
      throw std::logic_error("two threads with one number");
    for (int64_t i = begin; i < end; ++i) ++times[static_cast<size_t>(i)];
    --inside[static_cast<size_t>(number)];
  });
  return times;
}

bool all_once(const std::vector<int>& times) {
  return std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

TEST_CASE("threads that the system does not start are named before work begins") {
  const Threads threads(3);
  CHECK_NOTHROW(require_threads());
  const NoThreads none;
  REQUIRE(none.refused());
  CHECK_NOTHROW(require_threads());  // they are there
  set_thread_count(100);
  CHECK_THROWS_AS(require_threads(), DeviceError);
  CHECK_THROWS_WITH(require_threads(), Catch::Contains(" of 100 threads (--threads "));
  CHECK(all_once(touched(1000, 1)));  // by those that are there
}

TEST_CASE("every index is worked on once, whatever the threads and the grain") {
  for (const int count : {1, 2, 3, 8}) {
    const Threads threads(count);
    for (const int64_t indices : {0, 1, 2, 7, 64, 1000}) {
      for (const int64_t grain : {0, 1, 5, 2000}) {
        CAPTURE(count, indices, grain);
        CHECK(all_once(touched(indices, grain)));
      }
    }
  }
}

TEST_CASE("shares depend on the number of threads alone, and the first is the caller's") {
  const Threads threads(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<int64_t> begins(4, -1), ends(4, -1);
    std::thread::id first;
    parallel_for(10, 21, 1, [&](int64_t begin, int64_t end) {
      const auto number = static_cast<size_t>(thread_number());
      begins[number] = begin;
      ends[number] = end;
      if (number == 0) first = std::this_thread::get_id();
    });
    REQUIRE(begins == std::vector<int64_t>{10, 13, 16, 19});
    REQUIRE(ends == std::vector<int64_t>{13, 16, 19, 21});
    REQUIRE(first == std::this_thread::get_id());
  }
}

TEST_CASE("calls inside another run on the thread that makes them") {
  const Threads threads(4);
  std::vector<int> times(64, 0);
  std::atomic<int> elsewhere = 0;
  parallel_for(0, 8, 1, [&](int64_t begin, int64_t end) {
    const auto thread = std::this_thread::get_id();
    const int number = thread_number();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(i * 8, i * 8 + 8, 1, [&](int64_t b, int64_t e) {
        if (thread != std::this_thread::get_id() || number != thread_number()) ++elsewhere;
        for (int64_t k = b; k < e; ++k) ++times[static_cast<size_t>(k)];
      });
    }
  });
  CHECK(elsewhere == 0);
  CHECK(all_once(times));
}

TEST_CASE("an exception is thrown again once all shares are done") {
  const Threads threads(4);
  for (int64_t failing = 0; failing < 4; ++failing) {
    std::atomic<int> done = 0;
    CHECK_THROWS_AS(parallel_for(0, 4, 1,
                                 [&](int64_t begin, int64_t) {
                                   if (begin == failing) throw std::runtime_error("share");
                                   ++done;
                                 }),
                    std::runtime_error);
    CHECK(done == 3);
    CHECK(all_once(touched(100, 1)));
  }
}

TEST_CASE("several threads share out work at the same time, each with its own number of threads") {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int number = 1; number <= 4; ++number) {
    callers.emplace_back([&wrong, number] {
      set_thread_count(number);
      for (int round = 0; round < 300; ++round) {
        if (!all_once(touched(50 + round % 7, 1)) || thread_count() != number) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

// A ratio of processor time to time: other programs only make it smaller.
TEST_CASE("threads that wait sleep, within a loop and between loops") {
  const Threads threads(2);
  require_threads();
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  const auto used_share = [](const auto& work) {
    const double cpu_before = cpu_seconds();
    const auto before = std::chrono::steady_clock::now();
    for (int round = 0; round < 20; ++round) work();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - before;
    return (cpu_seconds() - cpu_before) / passed.count();
  };
  CHECK(used_share([&] {
          parallel_for(0, 2, 1, [&](int64_t begin, int64_t) {
            if (begin == 1) pause();
          });
        }) < 0.1);
  CHECK(used_share([&] {
          parallel_for(0, 2, 1, [](int64_t, int64_t) {});
          pause();
        }) < 0.1);
}

#ifndef __SANITIZE_THREAD__  // which starts no threads in such a child
TEST_CASE("a child of fork() has threads of its own") {
  const Threads threads(3);
  REQUIRE(all_once(touched(100, 1)));
  std::atomic<bool> ends = false;
#ifdef HEADROOM_SANITIZED
  ends = true;  // a child finds the sanitizer's heap locked if another thread allocates when it is made
#endif
  std::thread busy([&] {
    set_thread_count(3);
    while (!ends) touched(100, 1);
  });
  if (ends) busy.join();
  bool well = true;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      bool right = true;
      for (int round = 0; round < 20; ++round) right = right && all_once(touched(100, 1));
      _exit(right ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    well = well && status == 0;
  }
  ends = true;
  if (busy.joinable()) busy.join();
  CHECK(well);
}
#endif

}  // namespace
}  // namespace headroom
