#include <catch2/catch.hpp>
#include <initializer_list>

#include "decoder/base/errors.h"
#include "decoder/base/os/control_groups.h"
#include "decoder/base/os/process.h"
#include "decoder/base/os/process_memory.h"
#include "tests/support/no_descriptors.h"

namespace headroom {
namespace {

TEST_CASE("what is resident is known, or said not to be") {
  const int64_t resident = resident_bytes();  // before the peak is asked, which may grow by asking
  CHECK(resident > 0);
  CHECK(peak_resident_bytes() >= resident);
  CHECK(machine_available_bytes() > 0);
  CHECK(test::throws_without_descriptors<DeviceError>([] { resident_bytes(); }));
  CHECK(test::throws_without_descriptors<DeviceError>([] { peak_resident_bytes(); }));
  CHECK(test::throws_without_descriptors<DeviceError>([] { machine_available_bytes(); }));
  CHECK(test::throws_without_descriptors<DeviceError>([] { reset_peak_resident(); }));
}

TEST_CASE("control groups that cannot be read are not taken for none") {
  CHECK(test::throws_without_descriptors<DeviceError>([] { own_control_groups(); }));
}

constexpr int64_t kMebibyte = int64_t{1} << 20;

TEST_CASE("the limit of auto leaves a sixteenth, within bounds, and what the program holds") {
  CHECK(automatic_limit_bytes(0) == 0);
  CHECK(automatic_limit_bytes(32 * kMebibyte) == 0);
  CHECK(automatic_limit_bytes(200 * kMebibyte) == 168 * kMebibyte);
  CHECK(automatic_limit_bytes(1024 * kMebibyte) == (1024 - 16 - 64) * kMebibyte);
  CHECK(automatic_limit_bytes(64 * 1024 * kMebibyte) == (64 * 1024 - 16 - 256) * kMebibyte);
  int64_t before = 0;
  for (int64_t bytes = 0; bytes < 8192 * kMebibyte; bytes += 7 * kMebibyte) {
    const int64_t limit = automatic_limit_bytes(bytes);
    CHECK(limit >= before);
    before = limit;
  }
}

TEST_CASE("what is available is no more than what the machine has") {
  CHECK(available_bytes() > 0);
  CHECK(memory_bytes() >= available_bytes());
  CHECK(memory_bytes() <= machine_total_bytes());
  CHECK(available_bytes() <= machine_available_bytes() + 512 * kMebibyte);
}

TEST_CASE("threads follow allowed processors and quotas") {
  CHECK(useful_threads(8, 1e300) == 8);
  CHECK(useful_threads(8, 1.5) == 2);
  CHECK(useful_threads(8, 2.0) == 2);
  CHECK(useful_threads(8, 0.01) == 1);
  CHECK(useful_threads(1, 16) == 1);
  CHECK(useful_threads(0, 16) == 1);
  CHECK(allowed_processors() >= 1);
  CHECK(useful_threads() <= allowed_processors());
  CHECK(helper_threads() == useful_threads());
  limit_helper_threads(1);
  CHECK(helper_threads() == 1);
  limit_helper_threads(1 << 20);
  CHECK(helper_threads() == useful_threads());
}

}  // namespace
}  // namespace headroom
