#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <optional>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/decoder/gpu/kernels/map.h"

// In the emulator alone: no card reaches mapped memory of the host.
namespace headroom::gpu {
namespace {

using namespace test;
using Value = std::optional<double>;

TEST_CASE("a view of more bytes than 32 bits count") {
  // The mapping has 36 GiB, and only the touched pages take memory.
  const int64_t bytes = int64_t{36} << 30;
  void* memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    WARN("skipped: no address space");
    return;
  }
  View large;
  large.base = static_cast<std::byte*>(memory);
  large.channels = 4096;
  large.region = {{0, 2}, {0, 65536}, {0, 16}};
  large.block_rows = 65536;
  const auto addresses = [&](int64_t t, int64_t y, int64_t x) {
    return reinterpret_cast<float*>(large.base) + ((t * 65536 + y) * 16 + x) * 4096;
  };
  Random random(9);
  const Box box{{1, 2}, {60000, 60002}, {14, 16}};
  Map small(random, box, 4096, Dtype::fp32), back(random, box, 4096, Dtype::fp32);
  start(Copy{.source = small.view(), .target = large, .region = box}, nullptr);
  bool right = true;
  small.each([&](const Position& at) { right = right && addresses(at.t, at.y, at.x)[at.c] == small.at(at); });
  CHECK(right);
  const Map before = back;
  start(Copy{.source = large, .target = back.view(), .region = box}, nullptr);
  CHECK(difference(before, back, 0, [&](const Position& at) { return Value(small.at(at)); }) == "");
  munmap(memory, static_cast<size_t>(bytes));
}

}  // namespace
}  // namespace headroom::gpu
