#include "decoder/base/os/mapped_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"

namespace headroom {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kSystemPage = 4096;

char* anonymous_pages(int64_t bytes, int flags) noexcept {
  void* pages = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<char*>(pages);
}

int64_t rounded_to_huge(int64_t address) {
  return (address + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

char* map_pages(int64_t bytes) noexcept {
  return anonymous_pages(bytes, 0);
}

char* reserve_pages(int64_t bytes) noexcept {
  return anonymous_pages(bytes, MAP_NORESERVE);
}

void unmap_pages(void* pages, int64_t bytes) noexcept {
  munmap(pages, static_cast<size_t>(bytes));
}

void want_huge_pages(char* begin, int64_t bytes) {
  const auto address = reinterpret_cast<int64_t>(begin);
  const int64_t first = rounded_to_huge(address), last = (address + bytes) / kHugePage * kHugePage;
  if (first < last) madvise(begin + (first - address), static_cast<size_t>(last - first), MADV_HUGEPAGE);
}

void refuse_huge_pages(char* begin, int64_t bytes, const char* lowest, const char* end) {
  const auto address = reinterpret_cast<int64_t>(begin);
  const int64_t first = std::max(address / kHugePage * kHugePage, reinterpret_cast<int64_t>(lowest));
  const int64_t last = std::min(rounded_to_huge(address + bytes), reinterpret_cast<int64_t>(end));
  madvise(begin - (address - first), static_cast<size_t>(last - first), MADV_NOHUGEPAGE);
}

void return_pages(char* begin, int64_t bytes) {
  madvise(begin, static_cast<size_t>(bytes), MADV_DONTNEED);
}

int64_t present_bytes(char* begin, int64_t bytes) {
  constexpr int64_t kPagesAtOnce = 1 << 16;
  const int64_t all = bytes / kSystemPage;
  std::vector<unsigned char> present(static_cast<size_t>(std::min(kPagesAtOnce, all)));
  int64_t pages = 0;
  for (int64_t page = 0; page < all; page += kPagesAtOnce) {
    const int64_t count = std::min(kPagesAtOnce, all - page);
    if (mincore(begin + page * kSystemPage, static_cast<size_t>(count * kSystemPage), present.data()) != 0) {
      throw DeviceError("the system does not say which pages are in memory");
    }
    pages += std::count_if(present.begin(), present.begin() + count,
                           [](unsigned char flags) { return (flags & 1) != 0; });
  }
  return pages * kSystemPage;
}

MappedFile::MappedFile(const std::filesystem::path& file, int64_t least_bytes) {
  std::error_code error;
  bytes_ = static_cast<int64_t>(std::filesystem::file_size(file, error));
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (error || opened.number() < 0 || bytes_ < least_bytes)
    throw DeviceError(file.string() + ": cannot be read back");
  data_ = mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ, MAP_PRIVATE, opened.number(), 0);
  if (data_ == MAP_FAILED) throw DeviceError(file.string() + ": cannot be mapped");
}

MappedFile::~MappedFile() {
  munmap(data_, static_cast<size_t>(bytes_));
}

}  // namespace headroom
