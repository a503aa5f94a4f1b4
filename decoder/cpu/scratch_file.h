#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// A file of equal slots, each for one block of a kept tensor that is not in memory. It has no name,
/// so it is gone with the process however that ends. Reads and writes go past the page cache where the file
/// system lets them; elsewhere they are dropped from it at once. Not thread-safe.
class ScratchFile {
 public:
  enum class Access { direct, buffered };

  /// Claims all slots on the disk at once. `slot_bytes` is a multiple of 4096. `access` direct means: where
  /// possible. Throws InputError where there is no such folder, where it cannot be written to, where it is in
  /// memory, or where the slots take more than `limit_bytes`; DeviceError where the disk is too full.
  ScratchFile(const std::string& folder, int64_t slots, int64_t slot_bytes, int64_t limit_bytes,
              Access access = Access::direct);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// At most a slot's bytes. From memory that begins at a page and holds whole pages nothing is copied in
  /// between. Throws DeviceError.
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
  char* pages_ = nullptr;  ///< for memory that direct access cannot take
};

}  // namespace headroom
