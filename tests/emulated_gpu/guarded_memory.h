#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

namespace headroom::emulated {

/// Memory between two inaccessible guard pages. Aligned to 256 bytes if its size is a multiple of 256.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  /// `at_end` places the memory directly before the second guard page, else directly behind the first one.
  GuardedMemory(size_t bytes, bool at_end) : bytes_(bytes), at_end_(at_end) {
#ifdef HEADROOM_KERNELS_ON_GPU  // kernels on a card cannot access mapped pages; that test's operator new
                                // returns memory that they can access
    pages_ = static_cast<std::byte*>(::operator new (bytes + 256, std::align_val_t{256}));
    data_ = pages_;
    return;
#endif
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inner = (bytes + page - 1) / page * page;
    mapped_ = inner + 2 * page;
    void* memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    pages_ = static_cast<std::byte*>(memory);
    if (inner > 0 && mprotect(pages_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = pages_ + page + (at_end ? inner - bytes : 0);
  }
  GuardedMemory(const GuardedMemory& other) : GuardedMemory(other.bytes_, other.at_end_) {
    if (bytes_ > 0) std::memcpy(data_, other.data_, bytes_);
  }
  GuardedMemory& operator=(GuardedMemory other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(at_end_, other.at_end_);
    return *this;
  }
  ~GuardedMemory() {
#ifdef HEADROOM_KERNELS_ON_GPU
    if (pages_ != nullptr) ::operator delete (pages_, std::align_val_t{256});
#else
    if (pages_ != nullptr) munmap(pages_, mapped_);
#endif
  }

  std::byte* data() {
    return data_;
  }
  const std::byte* data() const {
    return data_;
  }
  size_t size() const {
    return bytes_;
  }

 private:
  std::byte* pages_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool at_end_ = false;
};

}  // namespace headroom::emulated
