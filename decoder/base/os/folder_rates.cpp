#include "decoder/base/os/folder_rates.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/unnamed_file.h"

namespace headroom {
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
