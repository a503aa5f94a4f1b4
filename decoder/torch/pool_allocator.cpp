#include "decoder/torch/pool_allocator.h"

#include <c10/core/Allocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

namespace headroom {
namespace {

std::atomic<Pool*> current{nullptr};

/// Pools that may still own memory. A tensor can outlive the scope that it was made in.
class KnownPools {
 public:
  void add(Pool* pool) {
    const std::lock_guard lock(mutex_);
    pools_.push_back(pool);
  }
  void remove(Pool* pool) {
    const std::lock_guard lock(mutex_);
    std::erase(pools_, pool);
  }
  Pool* owner(void* memory) {
    const std::lock_guard lock(mutex_);
    for (Pool* pool : pools_) {
      if (pool->owns(memory)) return pool;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<Pool*> pools_;
};

KnownPools& known_pools() {
  static KnownPools pools;
  return pools;
}

void release(void* memory) {
  if (memory == nullptr) return;
  if (Pool* pool = known_pools().owner(memory)) {
    pool->deallocate(memory);
  } else {
    c10::free_cpu(memory);
  }
}

class PoolAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, device};
    Pool* pool = current.load();
    void* memory = pool != nullptr ? pool->allocate(static_cast<int64_t>(bytes)) : c10::alloc_cpu(bytes);
    return {memory, memory, &release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }
};

void install_once() {
  static const bool installed = [] {
    static PoolAllocator allocator;
    c10::SetAllocator(c10::DeviceType::CPU, &allocator, /*priority=*/255);
    return true;
  }();
  (void)installed;
}

}  // namespace

PoolScope::PoolScope(Pool& pool) {
  install_once();
  known_pools().add(&pool);
  previous_ = current.exchange(&pool);
}

PoolScope::~PoolScope() {
  Pool* pool = current.exchange(previous_);
  known_pools().remove(pool);
}

}  // namespace headroom
