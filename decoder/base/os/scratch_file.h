#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace headroom {

/// A file of equal slots, each for one block of a kept tensor that is not in memory. It has no name, so the
/// system deletes it when the process ends in any way. Reads and writes bypass the page cache if the file
/// system allows it. Otherwise their pages are dropped from the cache at once. Not thread-safe.
class ScratchFile {
 public:
  enum class Access { direct, buffered };

  /// Allocates all slots on disk. `slot_bytes` is a multiple of 4096. Direct access falls back to buffered
  /// access. Throws InputError if the folder is missing, read-only or in memory, or if the slots exceed
  /// `limit_bytes`. Throws DeviceError if the disk is too full.
  ScratchFile(const std::string& folder, int64_t slots, int64_t slot_bytes, int64_t limit_bytes,
              Access access = Access::direct);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// `bytes` is at most slot_bytes(). Page-aligned memory of whole pages is transferred without a copy.
  /// Throws DeviceError.
  void write(int64_t slot, const void* memory, int64_t bytes);
  void read(int64_t slot, void* memory, int64_t bytes);

  int64_t slot_bytes() const { return slot_bytes_; }
  Access access() const { return access_; }

 private:
  bool set_direct(bool direct);
  void claim(int64_t bytes);
  template <typename Call>
  void transfer(const char* what, int64_t offset, int64_t bytes, Call call);
  void drop_from_cache(int64_t offset, int64_t bytes);
  [[noreturn]] void fail(const std::string& what, int error_number) const;

  std::string folder_;
  int64_t slot_bytes_;
  Access access_;
  int descriptor_ = -1;
  char* pages_ = nullptr;  ///< bounce buffer for memory that direct access rejects
};

/// Sequential write and read rates of a file in a folder.
struct FolderRates {
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

/// Writes and reads a file of 512 MiB, or half of the free space if that is less. Bypasses the page cache if
/// the file system allows it. The file is unlinked while it is open. Throws InputError if the folder cannot
/// hold a file, and DeviceError if writing or reading fails.
FolderRates measure_folder(const std::filesystem::path& folder);

}  // namespace headroom
