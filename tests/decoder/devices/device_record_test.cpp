#include "decoder/devices/device_record.h"

#include <catch2/catch.hpp>
#include <set>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

TEST_CASE("each kind of device has one record, by which its name is parsed") {
  REQUIRE(all_devices().size() == kDeviceKinds.size());
  std::set<std::string> names;
  for (DeviceKind kind : kDeviceKinds) {
    const DeviceRecord& device = device_record(kind);
    CHECK(device.kind == kind);
    CHECK(names.insert(device.name).second);
    CHECK(parse_device(device.name) == kind);
    CHECK(find_device(device.name) == &device);
    CHECK(on_text(kind) == (device.is_host ? "" : std::string(" on ") + device.name));
    REQUIRE(!device.algorithms.empty());
    CHECK(device.algorithms.front() == ConvolutionAlgorithm::direct);
    CHECK(device.second_tier == (device.is_host ? MemoryTier::scratch : MemoryTier::host));
    CHECK(device.most_tiles >= device.most_tiles_of_chunk);
    CHECK(device.link.bytes_per_second > 0);
  }
  CHECK(device_names() == "cpu or cuda");
}

TEST_CASE("a text that names no kind of device is refused") {
  for (const char* text : {"gpu", "", "cuda:0", "CPU"}) {
    CHECK(find_device(text) == nullptr);
    CHECK_THROWS_WITH(parse_device(text),
                      "--device: expected cpu or cuda, found '" + std::string(text) + "'");
  }
}

}  // namespace
}  // namespace headroom
