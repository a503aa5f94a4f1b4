#include <dlfcn.h>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "decoder/gpu/cuda/device.h"

namespace headroom::gpu {
namespace {

constexpr const char* kCard = "0000:19:00.0";
constexpr int64_t kGiB = int64_t{1} << 30;

void use(int64_t bytes) {
  setenv("FAKE_NVML_USED", std::to_string(bytes).c_str(), 1);
}

/// That were started and not shut down. The library stays, or it would forget them.
int sessions() {
  static void* library = dlopen(HEADROOM_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  return reinterpret_cast<int (*)()>(dlsym(library, "fake_nvml_sessions"))();
}

/// Says something while it lives.
class Saying {
 public:
  explicit Saying(const char* what) { setenv("FAKE_NVML", what, 1); }
  ~Saying() { unsetenv("FAKE_NVML"); }
};

TEST_CASE("what the driver counts since the start, up and down") {
  use(5 * kGiB);
  CHECK(sessions() == 0);
  {
    const DriverMemory memory(kCard, HEADROOM_FAKE_NVML);
    REQUIRE(memory.known());
    CHECK(sessions() == 1);
    CHECK(memory.grown_bytes() == 0);
    use(7 * kGiB);
    CHECK(memory.grown_bytes() == 2 * kGiB);
    use(4 * kGiB);
    CHECK(memory.grown_bytes() == -kGiB);
  }
  CHECK(sessions() == 0);
}

TEST_CASE("two may ask at a time") {
  use(kGiB);
  auto first = std::make_unique<DriverMemory>(kCard, HEADROOM_FAKE_NVML);
  const DriverMemory second(kCard, HEADROOM_FAKE_NVML);
  CHECK(sessions() == 2);
  first.reset();
  use(2 * kGiB);
  CHECK(second.grown_bytes() == kGiB);
}

TEST_CASE("a driver that does not answer says what it said last") {
  use(kGiB);
  const DriverMemory memory(kCard, HEADROOM_FAKE_NVML);
  use(3 * kGiB);
  CHECK(memory.grown_bytes() == 2 * kGiB);
  use(4 * kGiB);
  {
    const Saying saying("does not answer");
    CHECK(memory.grown_bytes() == 2 * kGiB);
  }
  CHECK(memory.grown_bytes() == 3 * kGiB);
}

TEST_CASE("where nobody tells, that is known") {
  use(kGiB);
  CHECK(sessions() == 0);
  SECTION("no library") {
    CHECK_FALSE(DriverMemory(kCard, "libheadroom-no-such-library.so").known());
  }
  SECTION("a library without one of the functions") {
    CHECK_FALSE(DriverMemory(kCard, HEADROOM_FAKE_NVML_OLD).known());
  }
  SECTION("a library that is another") {
    CHECK_FALSE(DriverMemory(kCard, "libdl.so.2").known());
  }
  SECTION("a card that it does not know") {
    CHECK_FALSE(DriverMemory("0000:00:00.0", HEADROOM_FAKE_NVML).known());
  }
  SECTION("no driver behind it") {
    const Saying saying("does not start");
    CHECK_FALSE(DriverMemory(kCard, HEADROOM_FAKE_NVML).known());
  }
  SECTION("a card whose memory it does not tell") {
    const Saying saying("does not answer");
    CHECK_FALSE(DriverMemory(kCard, HEADROOM_FAKE_NVML).known());
  }
  CHECK(sessions() == 0);
}

}  // namespace
}  // namespace headroom::gpu
