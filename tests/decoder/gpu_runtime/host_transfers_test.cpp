#include "decoder/gpu_runtime/host_transfers.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/emulated_gpu/emulated_gpu.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using gpu::Stream;

constexpr int64_t kBlock = 4096;

TEST_CASE("blocks go to the host and come back, ordered by events alone") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(4 * kBlock);
  HostTransfers transfers(gpu, gpu.reserve_host(2 * kBlock), 2, kBlock);
  gpu.clear(memory, kBlock);
  const auto written = transfers.queue_write({{1, memory, kBlock}});
  const auto read = transfers.queue_read({{1, memory + kBlock, kBlock}});
  // The memory of what was written is used again as soon as that has been waited for.
  transfers.wait(written);
  gpu.clear(memory, kBlock);
  transfers.wait(read);
  gpu.clear(memory + kBlock, kBlock);
  // A slot that was read is written again.
  transfers.wait(transfers.queue_write({{1, memory + kBlock, kBlock}, {0, memory, kBlock}}));
  CHECK(transfers.written_bytes() == 3 * kBlock);
  CHECK(transfers.read_bytes() == kBlock);
  CHECK(gpu.hazards().pairs_ordered_by_events() > 0);
}

TEST_CASE("memory that is still on its way may not be touched") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(2 * kBlock);
  HostTransfers transfers(gpu, gpu.reserve_host(kBlock), 1, kBlock);
  gpu.clear(memory, kBlock);
  SECTION("written to before it has left") {
    transfers.queue_write({{0, memory, kBlock}});
    CHECK_THROWS_WITH(gpu.clear(memory, kBlock),
                      Catch::Contains("clear on compute is not ordered after a copy on to_host"));
  }
  SECTION("used before it has come") {
    transfers.wait(transfers.queue_write({{0, memory, kBlock}}));
    transfers.queue_read({{0, memory + kBlock, kBlock}});
    CHECK_THROWS_WITH(gpu.clear(memory + kBlock, kBlock),
                      Catch::Contains("is not ordered after a copy on from_host"));
  }
  SECTION("copied without waiting for what makes it") {
    CHECK_THROWS_WITH(gpu.copy(Stream::to_host, gpu.reserve_host(kBlock), memory, kBlock),
                      Catch::Contains("a copy on to_host is not ordered after clear on compute"));
  }
}

}  // namespace
}  // namespace headroom
