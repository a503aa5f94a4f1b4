#include "decoder/cpu/scratch_transfers.h"

#include <catch2/catch.hpp>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

TEST_CASE("transfers run in their order, and waiting for one waits for those before it") {
  const Scratch scratch;
  const int64_t bytes = int64_t{16} * 4096;
  ScratchFile file(scratch.folder(), 4, bytes, int64_t{1} << 40);
  ScratchTransfers transfers(file, {{TensorId{0}, {3, 2, 1, 0}}});
  std::string first, second, back(bytes, 0), again(bytes, 0);
  for (int64_t i = 0; i < bytes; ++i) {
    first += static_cast<char>(i % 251);
    second += static_cast<char>(i % 241);
  }
  transfers.queue_write({{first.data(), bytes, TensorId{0}, 2}, {second.data(), bytes, TensorId{0}, 3}});
  transfers.queue_read({{back.data(), bytes, TensorId{0}, 2}});
  transfers.queue_write({{second.data(), bytes, TensorId{0}, 2}});
  const auto last = transfers.queue_read({{again.data(), bytes, TensorId{0}, 2}});
  transfers.wait(last);
  CHECK((back == first));
  CHECK((again == second));
  CHECK(transfers.written_bytes() == 3 * bytes);
  CHECK(transfers.read_bytes() == 2 * bytes);
  CHECK(transfers.wait_seconds() >= 0);
}

TEST_CASE("a transfer that fails is the waiting thread's error, and the rest is let go") {
  const Scratch scratch;
  const int64_t bytes = int64_t{16} * 4096;
  ScratchFile file(scratch.folder(), 2, bytes, int64_t{1} << 40);
  ScratchTransfers transfers(file, {{TensorId{0}, {0, 1, 7}}});
  std::string memory(bytes, 0);
  transfers.wait(transfers.queue_write({{memory.data(), bytes, TensorId{0}, 0}}));
  // Slot 7 is past the end.
  const auto beyond = transfers.queue_read({{memory.data(), bytes, TensorId{0}, 2}});
  const auto after = transfers.queue_write({{memory.data(), bytes, TensorId{0}, 1}});
  CHECK_THROWS_AS(transfers.wait(beyond), DeviceError);
  CHECK_THROWS_AS(transfers.wait(after), DeviceError);
  transfers.abandon();
}

}  // namespace
}  // namespace headroom
