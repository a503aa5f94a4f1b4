#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "decoder/gpu/transfers/pinned_staging.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/forwarding_gpu.h"
#include "tests/support/late_gpu.h"

namespace headroom {
namespace {

std::vector<std::byte> numbered(int64_t bytes) {
  std::vector<std::byte> values(static_cast<size_t>(bytes));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 7 + i / 256);
  return values;
}

/// Pieces of a GPU's memory, of which the second and third touch, and all of them fill staging twice.
std::vector<Span> spans_in(std::byte* memory) {
  constexpr int64_t kMost = PinnedStaging::kBytes;
  return {{memory, 100}, {memory + 300, 50}, {memory + 350, kMost + 7}, {memory + kMost + 1000, kMost - 3}};
}

constexpr int64_t kBytes = 3 * PinnedStaging::kBytes;

TEST_CASE("spans of a late GPU come and go through staging, whatever they hold") {
  gpu::EmulatedGpu emulated;
  for (const bool is_late : {false, true}) {
    CAPTURE(is_late);
    test::LateGpu late(emulated);
    gpu::Gpu& gpu = is_late ? static_cast<gpu::Gpu&>(late) : emulated;
    std::byte* const memory = gpu.reserve(kBytes);
    PinnedStaging staging(gpu);
    StagedCopies copies(staging);
    const std::vector<Span> spans = spans_in(memory);
    std::vector<std::byte> values = numbered(bytes_of({0, spans}));
    const std::vector<std::byte> expected = values;
    copies.to_device(values.data(), spans);
    std::fill(values.begin(), values.end(), std::byte{0});  // it was free again
    copies.to_host(spans, values.data());
    CHECK(values == expected);
    CHECK(std::memcmp(memory, expected.data(), 100) == 0);
    CHECK(memory[100] == std::byte{0xff});
    CHECK(std::memcmp(memory + 300, expected.data() + 100, 50) == 0);
    CHECK(memory[spans.back().bytes + PinnedStaging::kBytes + 1000] == std::byte{0xff});
    gpu.release();
  }
}

/// Counts copies, and does them at once.
class CountingGpu final : public test::ForwardingGpu {
 public:
  using ForwardingGpu::ForwardingGpu;
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    ++copies;
    gpu_.copy(stream, to, from, bytes);
  }

  int copies = 0;
};

TEST_CASE("spans that touch are one copy") {
  gpu::EmulatedGpu emulated;
  CountingGpu gpu(emulated);
  std::byte* const memory = gpu.reserve(4096);
  PinnedStaging staging(gpu);
  StagedCopies copies(staging);
  std::vector<std::byte> values = numbered(300);
  copies.to_device(values.data(), {{memory, 100}, {memory + 100, 100}, {memory + 1000, 100}});
  CHECK(gpu.copies == 2);
  copies.to_host({{memory, 100}, {memory + 1000, 100}, {memory + 1100, 100}}, values.data());
  CHECK(gpu.copies == 4);
  CHECK_NOTHROW(copies.to_host({}, values.data()));
  CHECK(gpu.copies == 4);
}

}  // namespace
}  // namespace headroom
