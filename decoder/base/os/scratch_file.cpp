#include "decoder/base/os/scratch_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kBetweenBytes = 16 * kPage;

int64_t round_up(int64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::string message_of(int error_number) {
  return std::generic_category().message(error_number);
}

bool whole_pages(const void* memory, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(memory) % kPage == 0 && bytes % kPage == 0;
}

}  // namespace

ScratchFile::ScratchFile(const std::string& folder, int64_t slots, int64_t slot_bytes, int64_t limit_bytes,
                         Access access)
    : folder_(folder), slot_bytes_(slot_bytes), access_(access) {
  const std::string named = "scratch folder " + (folder.empty() ? std::string("(none given)") : folder);
  struct stat status {};
  const int failed = stat(folder.c_str(), &status) == 0 ? 0 : errno;
  if (is_system_failure(failed)) fail_by_errno(named, failed);
  if (failed != 0 || !S_ISDIR(status.st_mode)) throw InputError(named + ": no such folder");
  struct statfs system {};
  if (statfs(folder.c_str(), &system) == 0) {
    const auto magic = static_cast<uint32_t>(system.f_type);
    if (magic == TMPFS_MAGIC || magic == RAMFS_MAGIC || magic == HUGETLBFS_MAGIC) {
      throw InputError(named + ": is in memory; a scratch folder must be on a disk");
    }
  }
  if (slots > limit_bytes / slot_bytes) {
    throw InputError(named + ": the plan keeps " + std::to_string(slots) + " blocks of " +
                     std::to_string(slot_bytes) + " bytes there, its limit is " +
                     std::to_string(limit_bytes) + " bytes");
  }
  descriptor_ = open_unnamed_file(folder);
  if (descriptor_ < 0) fail_by_errno(named + ": no file can be made in it", errno);
  try {
    if (access_ == Access::direct && !set_direct(true)) access_ = Access::buffered;
    claim(slots * slot_bytes);
    pages_ = static_cast<char*>(std::aligned_alloc(kPage, kBetweenBytes));
    if (pages_ == nullptr) throw DeviceError("the heap is exhausted");
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

ScratchFile::~ScratchFile() {
  close(descriptor_);
  std::free(pages_);
}

void ScratchFile::fail(const std::string& what, int error_number) const {
  throw DeviceError("scratch folder " + folder_ + ": " + what + ": " + message_of(error_number));
}

bool ScratchFile::set_direct(bool direct) {
  const int flags = fcntl(descriptor_, F_GETFL);
  return flags >= 0 && fcntl(descriptor_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

void ScratchFile::claim(int64_t bytes) {
  if (bytes == 0) return;
  int failed = 0;
  do {
    failed = fallocate(descriptor_, 0, 0, bytes) == 0 ? 0 : errno;
  } while (failed == EINTR);
  if (failed == EOPNOTSUPP)
    failed = ftruncate(descriptor_, bytes) == 0 ? 0 : errno;  // a full disk then fails on write
  if (failed == 0) return;
  struct statfs system {};
  const int64_t free_bytes =
      fstatfs(descriptor_, &system) == 0 ? int64_t(system.f_bavail) * int64_t(system.f_bsize) : 0;
  fail(std::to_string(bytes) + " bytes are needed, " + std::to_string(free_bytes) + " are free", failed);
}

/// Repeats `call(done, rest)`, which returns like pread(), until all bytes are transferred.
template <typename Call>
void ScratchFile::transfer(const char* what, int64_t offset, int64_t bytes, Call call) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t moved = call(done, bytes - done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EINVAL && access_ == Access::direct) {
      // Some file systems take the flag when the file is opened, and refuse it here.
      access_ = Access::buffered;
      if (!set_direct(false)) fail(what, EINVAL);
      continue;
    }
    if (moved < 0) fail(what, errno);
    // Direct access needs whole pages, so a partly transferred page is repeated.
    const bool torn = done + moved < bytes && access_ == Access::direct;
    const int64_t now = torn ? (done + moved) / kPage * kPage : done + moved;
    if (now == done) fail(what, EIO);
    done = now;
  }
  if (access_ == Access::buffered) drop_from_cache(offset, bytes);
}

void ScratchFile::drop_from_cache(int64_t offset, int64_t bytes) {
  // Only clean pages can be dropped. If this fails, the pages stay cached, which is slower for other programs
  // but not wrong.
  sync_file_range(descriptor_, offset, bytes,
                  SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(descriptor_, offset, bytes, POSIX_FADV_DONTNEED);
}

void ScratchFile::write(int64_t slot, const void* memory, int64_t bytes) {
  const auto* from = static_cast<const char*>(memory);
  const auto put = [&](const char* source, int64_t offset, int64_t count) {
    transfer("cannot be written", offset, count, [&](int64_t done, int64_t rest) {
      return pwrite(descriptor_, source + done, static_cast<size_t>(rest), offset + done);
    });
  };
  const int64_t begin = slot * slot_bytes_;
  if (access_ == Access::buffered || whole_pages(memory, bytes)) return put(from, begin, bytes);
  for (int64_t at = 0; at < bytes; at += kBetweenBytes) {
    const int64_t count = std::min(kBetweenBytes, bytes - at);
    std::memcpy(pages_, from + at, static_cast<size_t>(count));
    put(pages_, begin + at, round_up(count));
  }
}

void ScratchFile::read(int64_t slot, void* memory, int64_t bytes) {
  auto* to = static_cast<char*>(memory);
  const auto get = [&](char* target, int64_t offset, int64_t count) {
    transfer("cannot be read", offset, count, [&](int64_t done, int64_t rest) {
      return pread(descriptor_, target + done, static_cast<size_t>(rest), offset + done);
    });
  };
  const int64_t begin = slot * slot_bytes_;
  if (access_ == Access::buffered || whole_pages(memory, bytes)) return get(to, begin, bytes);
  for (int64_t at = 0; at < bytes; at += kBetweenBytes) {
    const int64_t count = std::min(kBetweenBytes, bytes - at);
    get(pages_, begin + at, round_up(count));
    std::memcpy(to + at, pages_, static_cast<size_t>(count));
  }
}

namespace {

constexpr int64_t kChunk = int64_t{4} << 20;
constexpr int64_t kMostBytes = int64_t{512} << 20;
constexpr size_t kSector = 4096;

/// Opens a temporary file that bypasses the page cache where the file system can.
int open_uncached(const std::filesystem::path& folder) {
  const int file = open_unnamed_file(folder);
  if (file < 0)
    throw InputError("--scratch " + folder.string() + ": no file can be made there: " + std::strerror(errno));
  // If the file system does not support O_DIRECT, measure_folder() still flushes and drops the cache.
  fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT);
  return file;
}

double rate(int64_t bytes, std::chrono::steady_clock::time_point start) {
  return double(bytes) /
         std::max(1e-9, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

}  // namespace

FolderRates measure_folder(const std::filesystem::path& folder) {
  const Descriptor file(open_uncached(folder));
  struct statvfs space {};
  if (fstatvfs(file.number(), &space) != 0) throw DeviceError(folder.string() + ": " + std::strerror(errno));
  const auto free_bytes =
      static_cast<int64_t>(std::min<uint64_t>(uint64_t{space.f_bavail} * space.f_frsize, uint64_t{1} << 60));
  const int64_t bytes = std::min(kMostBytes, free_bytes / 2) / kChunk * kChunk;
  if (bytes == 0) throw InputError("--scratch " + folder.string() + ": too little space to measure");
  const std::unique_ptr<void, decltype(&free)> memory(aligned_alloc(kSector, kChunk), &free);
  if (!memory) throw DeviceError("the heap is exhausted");
  std::memset(memory.get(), 0x5a, kChunk);

  const auto each_chunk = [&](const char* what, auto transfer) {
    const auto start = std::chrono::steady_clock::now();
    for (int64_t offset = 0; offset < bytes; offset += kChunk) {
      if (transfer(offset) != kChunk)
        throw DeviceError(folder.string() + ": " + what + " fails: " + std::strerror(errno));
    }
    if (fdatasync(file.number()) != 0) throw DeviceError(folder.string() + ": " + std::strerror(errno));
    return rate(bytes, start);
  };
  FolderRates rates;
  rates.write_bytes_per_second = each_chunk(
      "writing", [&](int64_t offset) { return pwrite(file.number(), memory.get(), kChunk, offset); });
  posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  rates.read_bytes_per_second = each_chunk(
      "reading", [&](int64_t offset) { return pread(file.number(), memory.get(), kChunk, offset); });
  return rates;
}

}  // namespace headroom
