#include "decoder/cpu/threads.h"

#include <pthread.h>

#include <catch2/catch.hpp>

#include "decoder/graph/errors.h"

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

TEST_CASE("threads that the system does not start are said before OpenMP needs them") {
  const int threads_before = thread_count();
  set_thread_count(3);
  CHECK_NOTHROW(require_threads());
  {
    const NoThreads none;
    REQUIRE(none.refused());
    CHECK_THROWS_AS(require_threads(), DeviceError);
    CHECK_THROWS_WITH(require_threads(), "the system starts 1 of 3 threads (--threads 1 takes no more)");
    set_thread_count(1);
    CHECK_NOTHROW(require_threads());
  }
  set_thread_count(threads_before);
}

}  // namespace
}  // namespace headroom
