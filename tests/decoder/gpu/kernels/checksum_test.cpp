#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "decoder/base/checksum.h"
#include "decoder/gpu/kernels/kernels.h"
#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

/// Word by word, as the header defines it.
uint64_t expected_of(std::span<const std::byte> bytes) {
  std::vector<uint32_t> words((bytes.size() + kChecksumGroupBytes - 1) / kChecksumGroupBytes *
                              kChecksumWords);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  uint64_t sum = 0;
  for (uint32_t i = 0; i < words.size(); ++i) {
    if (i % kChecksumWords < kChecksumWords / 2)
      sum += checksum_of_pair(words[i], words[i + kChecksumWords / 2], i);
  }
  return sum;
}

TEST_CASE("checksum: as defined, of stretches of any length at any address") {
  test::Random random(4);
  std::vector<uint32_t> words(70'000);
  for (uint32_t& word : words) word = static_cast<uint32_t>(random.integer(0, 0xffffffff));
  const auto bytes = std::as_bytes(std::span<const uint32_t>(words));
  Checksum call;
  std::vector<std::span<const std::byte>> stretches;
  for (const size_t length : {1, 4, 30, 128, 130, 4096, 65'536, 65'538, 200'000}) {
    for (const size_t offset : {0, 16, 2, 5}) {
      const auto at = static_cast<size_t>(call.stretches++);
      stretches.push_back(bytes.subspan(offset, length));
      call.at[at] = stretches.back().data();
      call.bytes[at] = static_cast<int64_t>(length);
      call.first_block[at + 1] =
          call.first_block[at] +
          static_cast<int32_t>((call.bytes[at] + Checksum::kBlockBytes - 1) / Checksum::kBlockBytes);
    }
  }
  std::vector<uint64_t> sums(static_cast<size_t>(call.first_block[call.stretches]));
  call.sums = sums.data();
  start(call, nullptr);
  for (size_t i = 0; i < stretches.size(); ++i) {
    uint64_t sum = 0;
    for (int32_t block = call.first_block[i]; block < call.first_block[i + 1]; ++block)
      sum += sums[static_cast<size_t>(block)];
    CHECK(sum == expected_of(stretches[i]));
  }
}

}  // namespace
}  // namespace headroom::gpu
