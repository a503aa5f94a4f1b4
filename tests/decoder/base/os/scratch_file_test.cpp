#include "decoder/base/os/scratch_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <optional>

#include "tests/decoder/files/scratch.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

constexpr int64_t kPage = 4096;
constexpr int64_t kNoLimit = int64_t{1} << 40;

/// Memory as the pool hands it out: whole pages, or small pieces that begin anywhere on 64 bytes.
class Memory {
 public:
  Memory(int64_t bytes, bool pages) : bytes_(bytes), skipped_(pages ? 0 : 64) {
    base_.reset(
        static_cast<char*>(std::aligned_alloc(kPage, static_cast<size_t>((bytes / kPage + 2) * kPage))));
  }
  char* data() const { return base_.get() + skipped_; }
  int64_t bytes() const { return bytes_; }
  std::string text() const { return {data(), static_cast<size_t>(bytes_)}; }
  void fill(test::Random& random) {
    for (int64_t i = 0; i < bytes_; ++i) data()[i] = static_cast<char>(random.integer(0, 255));
  }
  void clear() { std::memset(data(), 0, static_cast<size_t>(bytes_)); }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> base_;
  int64_t bytes_;
  int64_t skipped_;
};

TEST_CASE("what goes into a slot comes out of it, whole pages or not, past the page cache or through it") {
  const Scratch scratch;
  const auto access = GENERATE(ScratchFile::Access::direct, ScratchFile::Access::buffered);
  const int64_t slot_bytes = 40 * kPage;
  ScratchFile file(scratch.folder(), 7, slot_bytes, kNoLimit, access);
  test::Random random(5);
  std::vector<Memory> blocks;
  for (const int64_t bytes :
       {slot_bytes, kPage, int64_t{64}, int64_t{64 * 100}, slot_bytes - 64, 17 * kPage, 16 * kPage}) {
    blocks.emplace_back(bytes, bytes % kPage == 0 && bytes != 17 * kPage);
    blocks.back().fill(random);
  }
  std::vector<std::string> expected;
  for (size_t i = 0; i < blocks.size(); ++i) expected.push_back(blocks[i].text());
  // Slots next to one another, in an order that would show one running into the other.
  for (const size_t i : {size_t{6}, size_t{0}, size_t{3}, size_t{1}, size_t{5}, size_t{2}, size_t{4}}) {
    file.write(static_cast<int64_t>(i), blocks[i].data(), blocks[i].bytes());
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    CAPTURE(i);
    blocks[i].clear();
    file.read(static_cast<int64_t>(i), blocks[i].data(), blocks[i].bytes());
    CHECK((blocks[i].text() == expected[i]));
  }
}

TEST_CASE("a scratch file has no name") {
  const Scratch scratch;
  const ScratchFile file(scratch.folder(), 4, kPage, kNoLimit);
  CHECK(scratch.files().empty());
}

TEST_CASE("a scratch file takes its whole size at the start, and gives it back") {
  const Scratch scratch;
  const int64_t bytes = int64_t{64} << 20;
  const auto free_bytes = [&] { return static_cast<int64_t>(std::filesystem::space(scratch.folder()).free); };
  // Others write to the same disk: half of the size is evidence enough.
  std::optional<ScratchFile> file;
  const int64_t before = free_bytes();
  file.emplace(scratch.folder(), bytes / kPage, kPage, bytes);
  const int64_t during = free_bytes();
  file.reset();
  CHECK(before - during > bytes / 2);
  CHECK(free_bytes() - during > bytes / 2);
}

TEST_CASE("folders that are none, in memory or not to be written to are refused") {
  const Scratch scratch;
  const auto refused = [](const std::string& folder, const std::vector<std::string>& parts) {
    require_input_error([&] { ScratchFile(folder, 1, kPage, kNoLimit); }, parts);
  };
  refused(scratch / "none", {"none", "no such folder"});
  refused("", {"none given", "no such folder"});
  refused(scratch.write("file", "x"), {"file", "no such folder"});
  refused("/dev/shm", {"/dev/shm", "is in memory; a scratch folder must be on a disk"});
  refused("/proc", {"/proc", "no file can be made in it"});
}

TEST_CASE("a scratch file above its limit is refused, with both figures") {
  const Scratch scratch;
  require_input_error([&] { ScratchFile(scratch.folder(), 3, kPage, 3 * kPage - 1); },
                      {scratch.folder(), "3 blocks of 4096 bytes", std::to_string(3 * kPage - 1)});
  CHECK_NOTHROW(ScratchFile(scratch.folder(), 3, kPage, 3 * kPage));
  require_input_error([&] { ScratchFile(scratch.folder(), int64_t{1} << 40, int64_t{1} << 40, kNoLimit); },
                      {"limit"});
}

/// Files of this process may not become larger, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(int64_t bytes) {
    signal_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(bytes);
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

TEST_CASE("a disk without the room is found at the start, with what is needed and what is free") {
  const Scratch scratch;
  const FileSizeLimit limit(8 * kPage);
  CHECK_NOTHROW(ScratchFile(scratch.folder(), 8, kPage, kNoLimit));
  try {
    ScratchFile(scratch.folder(), 9, kPage, kNoLimit);
    FAIL("expected a DeviceError");
  } catch (const DeviceError& error) {
    CHECK_THAT(error.what(), Catch::Contains(scratch.folder()) && Catch::Contains("36864 bytes are needed") &&
                                 Catch::Contains("are free"));
  }
}

}  // namespace
}  // namespace headroom
