#include "decoder/gpu/transfers/host_transfers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "tests/emulated_gpu/emulated_gpu.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using gpu::Stream;

constexpr int64_t kBlock = 4096;
constexpr TensorId kA{1}, kB{2};

struct Blocks {
  TensorId tensor;
  int64_t first, count;
};
HostLayout layout_of(const std::vector<Blocks>& tensors) {
  HostLayout layout;
  for (const Blocks& blocks : tensors) {
    layout.tensors[blocks.tensor] = {blocks.first * kBlock, kBlock};
    layout.bytes = std::max(layout.bytes, (blocks.first + blocks.count) * kBlock);
  }
  return layout;
}

BlockTransfers::Block block(TensorId tensor, int64_t position, std::byte* memory) {
  return {memory, kBlock, tensor, position};
}

TEST_CASE("blocks go to the host and come back, ordered by events alone") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(4 * kBlock);
  const HostLayout layout = layout_of({{kA, 0, 2}});
  const HostMemory host(gpu, layout.bytes);
  HostTransfers transfers(gpu, host, layout);
  gpu.clear(memory, kBlock);
  const auto written = transfers.queue_write({block(kA, 1, memory)});
  const auto read = transfers.queue_read({block(kA, 1, memory + kBlock)});
  // The memory of what was written is used again as soon as that has been waited for.
  transfers.wait(written);
  gpu.clear(memory, kBlock);
  transfers.wait(read);
  gpu.clear(memory + kBlock, kBlock);
  // A slot that was read is written again.
  transfers.wait(transfers.queue_write({block(kA, 1, memory + kBlock), block(kA, 0, memory)}));
  CHECK(transfers.written_bytes() == 3 * kBlock);
  CHECK(transfers.read_bytes() == kBlock);
  CHECK(gpu.hazards().pairs_ordered_by_events() > 0);
}

TEST_CASE("a block is read into memory whose last use is over") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(2 * kBlock);
  const HostLayout layout = layout_of({{kA, 0, 1}});
  const HostMemory host(gpu, layout.bytes);
  HostTransfers transfers(gpu, host, layout);
  gpu.clear(memory, kBlock);
  transfers.wait(transfers.queue_write({block(kA, 0, memory)}));
  // Nothing but the read's own wait for the compute stream comes after this use.
  gpu.clear(memory + kBlock, kBlock);
  transfers.wait(transfers.queue_read({block(kA, 0, memory + kBlock)}));
  CHECK(transfers.read_bytes() == kBlock);
}

TEST_CASE("a tensor is written where another one lay once that has been read") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(4 * kBlock);
  const HostLayout layout = layout_of({{kA, 0, 2}, {kB, 1, 1}});
  const HostMemory host(gpu, layout.bytes);
  HostTransfers transfers(gpu, host, layout);
  gpu.clear(memory, 4 * kBlock);
  transfers.wait(transfers.queue_write({block(kA, 0, memory), block(kA, 1, memory + kBlock)}));
  transfers.queue_read({block(kA, 1, memory + 2 * kBlock)});
  // Nobody has waited for that; the emulated GPU would find the write that does not.
  CHECK_NOTHROW(transfers.wait(transfers.queue_write({block(kB, 0, memory + 3 * kBlock)})));
}

TEST_CASE("blocks come back as they went, wherever pieces of the host's memory end") {
  constexpr int64_t kBlocks = 5;
  for (const int64_t piece_bytes : {kBlock / 4 + 16, kBlock, 2 * kBlock + 512, kBlocks * kBlock}) {
    CAPTURE(piece_bytes);
    EmulatedGpu gpu;
    std::byte* memory = gpu.reserve(2 * kBlocks * kBlock);
    const HostLayout layout = layout_of({{kA, 0, kBlocks}});
    const HostMemory host(gpu, layout.bytes, piece_bytes);
    HostTransfers transfers(gpu, host, layout);
    for (int64_t i = 0; i < kBlocks * kBlock; ++i) memory[i] = static_cast<std::byte>(i * 7 + i / kBlock);
    std::vector<BlockTransfers::Block> blocks, back;
    for (int64_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(block(kA, i, memory + i * kBlock));
      back.push_back(block(kA, i, memory + (kBlocks + i) * kBlock));
    }
    transfers.wait(transfers.queue_write(blocks));
    transfers.wait(transfers.queue_read(back));
    CHECK(std::memcmp(memory, memory + kBlocks * kBlock, kBlocks * kBlock) == 0);
    CHECK(transfers.written_bytes() == kBlocks * kBlock);
    CHECK(transfers.read_bytes() == kBlocks * kBlock);
  }
}

TEST_CASE("memory that is still on its way may not be touched") {
  EmulatedGpu gpu;
  std::byte* memory = gpu.reserve(2 * kBlock);
  const HostLayout layout = layout_of({{kA, 0, 1}});
  const HostMemory host(gpu, layout.bytes);
  HostTransfers transfers(gpu, host, layout);
  gpu.clear(memory, kBlock);
  SECTION("written to before it has left") {
    transfers.queue_write({block(kA, 0, memory)});
    CHECK_THROWS_WITH(gpu.clear(memory, kBlock),
                      Catch::Contains("clear on compute is not ordered after a copy on to_host"));
  }
  SECTION("used before it has come") {
    transfers.wait(transfers.queue_write({block(kA, 0, memory)}));
    transfers.queue_read({block(kA, 0, memory + kBlock)});
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
