#include "decoder/base/os/process_memory.h"

#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/base/os/control_groups.h"
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

}  // namespace
}  // namespace headroom
