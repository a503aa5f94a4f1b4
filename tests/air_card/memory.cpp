#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"

// Device memory is host memory between two guard pages. Addresses are never reused, so any use of freed
// memory is detected.
namespace headroom::air {
namespace {

constexpr uintptr_t kDevicePage = uintptr_t{2} << 20;  // the driver's smallest page
constexpr uintptr_t kHostPage = 4096;
/// Device memory that CUDA and its libraries use themselves.
constexpr int64_t kContextBytes = int64_t{512} << 20;
/// Larger allocations are not filled with NaNs, which would use up the host's memory.
constexpr size_t kMostFilled = size_t{64} << 20;

struct Block {
  uintptr_t bytes = 0;
  Memory memory = Memory::device;
  bool freed = false;
  bool registered = false;  ///< the program's own memory, pinned later
  int device = 0;           ///< of device memory
};

/// Allocations by address.
std::map<uintptr_t, Block>& blocks() {
  static auto* all = new std::map<uintptr_t, Block>;
  return *all;
}

uintptr_t rounded(uintptr_t value, uintptr_t unit) {
  return (value + unit - 1) / unit * unit;
}
uintptr_t address(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// Finds the allocation that contains an address.
std::map<uintptr_t, Block>::iterator find(uintptr_t at) {
  auto next = blocks().upper_bound(at);
  if (next == blocks().begin()) return blocks().end();
  --next;
  return at < next->first + next->second.bytes ? next : blocks().end();
}

const char* counter(Memory memory) {
  return memory == Memory::device ? "live_bytes" : "pinned_bytes";
}
int64_t counted(const Block& block) {
  return static_cast<int64_t>(block.memory == Memory::device ? rounded(block.bytes, kDevicePage)
                                                             : block.bytes);
}

int64_t total_bytes() {
  static const int64_t total = number_setting("AIR_TOTAL_MIB", 80 << 10) << 20;
  return total;
}
int64_t host_bytes() {
  static const int64_t total = number_setting("AIR_PINNED_MIB", 1 << 20) << 20;
  return total;
}
std::map<int, int64_t> live_bytes;  ///< by device
int64_t pinned_bytes = 0;
int64_t& bytes_in_use(const Block& block) {
  return block.memory == Memory::device ? live_bytes[block.device] : pinned_bytes;
}

cudaError_t allocate(void** to, size_t bytes, Memory memory) {
  *to = nullptr;
  if (bytes == 0) return cudaSuccess;
  const uintptr_t page = memory == Memory::device ? kDevicePage : kHostPage;
  const Block block{bytes, memory, false, false, current_device()};
  int64_t& live = bytes_in_use(block);
  const int64_t most = memory == Memory::device ? total_bytes() - kContextBytes : host_bytes();
  if (live + counted(block) > most) return cudaErrorMemoryAllocation;
  const uintptr_t inner = rounded(bytes, kHostPage), whole = inner + 2 * page;
  void* mapped = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return cudaErrorMemoryAllocation;
  const uintptr_t begin = rounded(address(mapped) + 1, page);
  *to = reinterpret_cast<void*>(begin);
  if (mprotect(*to, inner, PROT_READ | PROT_WRITE) != 0) return cudaErrorMemoryAllocation;
  if (kernels_are_run() && bytes <= kMostFilled) std::memset(*to, 0xff, bytes);
  blocks()[begin] = block;
  live += counted(block);
  change(counter(memory), counted(block));
  return cudaSuccess;
}

cudaError_t release(const char* name, void* pointer, Memory memory) {
  if (pointer == nullptr) return cudaSuccess;
  drain_all();  // freeing memory synchronizes the device
  const auto found = blocks().find(address(pointer));
  if (found == blocks().end() || found->second.memory != memory || found->second.freed) {
    wrong_use(std::string(name) + ": it is not the beginning of live memory");
    return cudaErrorInvalidValue;
  }
  Block& block = found->second;
  bytes_in_use(block) -= counted(block);
  change(counter(memory), -counted(block));
  block.freed = true;
  madvise(pointer, rounded(block.bytes, kHostPage), MADV_DONTNEED);
  mprotect(pointer, rounded(block.bytes, kHostPage), PROT_NONE);
  return cudaSuccess;
}

std::string text_of(const char* user, int64_t bytes, const char* what) {
  return std::string(user) + ": " + std::to_string(bytes) + " bytes " + what;
}

/// AIR_COPIES=none skips the bytes of copies. Benchmarks of host time use it, because a real card copies
/// asynchronously.
bool leaves_out_copies() {
  static const bool leaves_out = setting("AIR_COPIES") == "none";
  return leaves_out;
}

void note_copy(Memory from, Memory to, int64_t bytes) {
  count("copies");
  count("copied_bytes", bytes);
  if (from == Memory::device && to != Memory::device) {
    count("copies_to_host");
    count("bytes_to_host", bytes);
  } else if (from != Memory::device && to == Memory::device) {
    count("copies_from_host");
    count("bytes_from_host", bytes);
  }
}

/// Copies in CUDA's order. Pageable host memory is read or written before the call returns.
cudaError_t copy(const char* name, void* to, const void* from, size_t bytes, const void* stream) {
  if (bytes == 0) return cudaSuccess;
  const auto length = static_cast<int64_t>(bytes);
  if (!check_range(name, to, length) || !check_range(name, from, length)) return cudaErrorInvalidValue;
  note_copy(memory_of(from), memory_of(to), length);
  if (leaves_out_copies()) return cudaSuccess;
  if (memory_of(to) == Memory::pageable) {
    drain(stream);
    std::memmove(to, from, bytes);
  } else if (memory_of(from) == Memory::pageable && !work_runs_now()) {
    const auto* begin = static_cast<const char*>(from);
    enqueue(stream, [to, staged = std::vector<char>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), staged.size());
    });
  } else {
    enqueue(stream, [=] { std::memmove(to, from, bytes); });
  }
  return cudaSuccess;
}

cudaError_t fill(const char* name, void* to, int value, size_t bytes, const void* stream) {
  if (!check_device_range(name, to, static_cast<int64_t>(bytes))) return cudaErrorInvalidValue;
  if (leaves_out_copies()) return cudaSuccess;
  enqueue(stream, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

}  // namespace

Memory memory_of(const void* begin) {
  const auto found = find(address(begin));
  return found == blocks().end() ? Memory::pageable : found->second.memory;
}

bool check_range(const char* user, const void* begin, int64_t bytes) {
  const auto found = find(address(begin));
  if (found == blocks().end()) return true;
  if (found->second.freed) {
    wrong_use(text_of(user, bytes, "of freed memory"));
    return false;
  }
  if (address(begin) + static_cast<uintptr_t>(bytes) <= found->first + found->second.bytes) return true;
  wrong_use(text_of(user, bytes, "end outside their allocation"));
  return false;
}

bool check_device_range(const char* user, const void* begin, int64_t bytes) {
  const auto found = find(address(begin));
  if (found == blocks().end() || found->second.memory != Memory::device) {
    wrong_use(text_of(user, bytes, "do not begin in memory of the card"));
    return false;
  }
  return is_on_current_device(user, found->second.device) && check_range(user, begin, bytes);
}

AIR_API cudaError_t cudaMalloc(void** to, size_t bytes) {
  return call(__func__, cudaErrorMemoryAllocation, [&] { return allocate(to, bytes, Memory::device); });
}
AIR_API cudaError_t cudaHostAlloc(void** to, size_t bytes, unsigned) {
  return call(__func__, cudaErrorMemoryAllocation, [&] { return allocate(to, bytes, Memory::pinned); });
}
AIR_API cudaError_t cudaFree(void* pointer) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return release("cudaFree", pointer, Memory::device); });
}
AIR_API cudaError_t cudaFreeHost(void* pointer) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return release("cudaFreeHost", pointer, Memory::pinned); });
}

AIR_API cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return call(__func__, cudaErrorMemoryAllocation, [&] {
    blocks()[address(pointer)] = {bytes, Memory::pinned, false, true, 0};
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaHostUnregister(void* pointer) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    drain_all();
    const auto found = blocks().find(address(pointer));
    if (found == blocks().end() || !found->second.registered) return cudaErrorHostMemoryNotRegistered;
    blocks().erase(found);
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    const int64_t live = live_bytes[current_device()];
    *free = static_cast<size_t>(std::max(int64_t{0}, total_bytes() - kContextBytes - live));
    *total = static_cast<size_t>(total_bytes());
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    const Memory memory = memory_of(pointer);
    const auto found = find(address(pointer));
    *attributes = {};
    attributes->device = found == blocks().end() ? -1 : found->second.device;
    attributes->type = memory == Memory::device   ? cudaMemoryTypeDevice
                       : memory == Memory::pinned ? cudaMemoryTypeHost
                                                  : cudaMemoryTypeUnregistered;
    if (memory != Memory::pageable) attributes->devicePointer = const_cast<void*>(pointer);
    if (memory != Memory::device) attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                    cudaStream_t stream) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return copy("cudaMemcpyAsync", to, from, bytes, stream); });
}
AIR_API cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                        cudaStream_t stream) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return copy("cudaMemcpyPeerAsync", to, from, bytes, stream); });
}
AIR_API cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    const cudaError_t status = copy("cudaMemcpy", to, from, bytes, nullptr);
    drain(nullptr);
    return status;
  });
}
AIR_API cudaError_t cudaMemcpy2DAsync(void* to, size_t to_row, const void* from, size_t from_row,
                                      size_t width, size_t rows, cudaMemcpyKind, cudaStream_t stream) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    cudaError_t status = cudaSuccess;
    for (size_t row = 0; row < rows && status == cudaSuccess; ++row)
      status = copy("cudaMemcpy2DAsync", static_cast<char*>(to) + row * to_row,
                    static_cast<const char*>(from) + row * from_row, width, stream);
    return status;
  });
}

AIR_API cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return fill("cudaMemsetAsync", to, value, bytes, stream); });
}
AIR_API cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return fill("cudaMemset", to, value, bytes, nullptr); });
}

}  // namespace headroom::air
