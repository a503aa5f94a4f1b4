#include "decoder/devices/device_name.h"

#include <catch2/catch.hpp>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

TEST_CASE("a device's name has a kind, and a number for a GPU", "[unit][device_name]") {
  CHECK(parse_device_name("cpu") == DeviceName{DeviceKind::cpu, 0});
  CHECK(parse_device_name("cuda") == DeviceName{DeviceKind::cuda, 0});
  CHECK(parse_device_name("cuda:0") == DeviceName{DeviceKind::cuda, 0});
  CHECK(parse_device_name("cuda:12") == DeviceName{DeviceKind::cuda, 12});
  CHECK(text_of({DeviceKind::cpu, 0}) == "cpu");
  CHECK(text_of({DeviceKind::cuda, 1}) == "cuda:1");
}

TEST_CASE("other device names are refused", "[unit][device_name]") {
  for (const std::string text : {"", "gpu", "CUDA", "cpu:0", "cuda:", "cuda:-1", "cuda:+1", "cuda: 1",
                                 "cuda:1x", "cuda:99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_device_name(text),
                      "--device: expected cpu, cuda or cuda:N, found '" + text + "'");
    CHECK_THROWS_AS(parse_device_name(text), InputError);
  }
}

}  // namespace
}  // namespace headroom
