#pragma once

#include <cstdint>
#include <filesystem>

namespace headroom {

/// Maps zeroed pages. Null if the system has none.
char* map_pages(int64_t bytes) noexcept;
/// Maps zeroed pages that the system need not have yet. They cost memory once they are touched.
char* reserve_pages(int64_t bytes) noexcept;
/// Undoes map_pages() and reserve_pages().
void unmap_pages(void* pages, int64_t bytes) noexcept;

/// Requests the huge pages that lie entirely within this range.
void want_huge_pages(char* begin, int64_t bytes);
/// Forbids huge pages that overlap this range, except for their parts outside [lowest, end).
void refuse_huge_pages(char* begin, int64_t bytes, const char* lowest, const char* end);
/// Returns the range's memory to the system. The addresses stay, and read as zeros.
void return_pages(char* begin, int64_t bytes);
/// Bytes of this range of whole pages that are in memory now. Throws DeviceError if the system fails to
/// answer.
int64_t present_bytes(char* begin, int64_t bytes);

/// A file's bytes as memory.
class MappedFile {
 public:
  /// Throws DeviceError if the file cannot be read, or has fewer bytes.
  MappedFile(const std::filesystem::path& file, int64_t least_bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const char* end() const { return static_cast<const char*>(data_) + bytes_; }

 private:
  void* data_;
  int64_t bytes_;
};

}  // namespace headroom
