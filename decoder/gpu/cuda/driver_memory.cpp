#include "decoder/gpu/cuda/driver_memory.h"

#include "decoder/base/os/load_module.h"

namespace headroom::gpu {
namespace {

// Declarations of the four NVML functions that are used. Their ABI has not changed since NVML's first
// release.
struct Memory {
  unsigned long long total, free, used;
};
using Init = int (*)();
using Shutdown = int (*)();
using FindCard = int (*)(const char* bus_id, void** card);
using GetMemory = int (*)(void* card, Memory* memory);

}  // namespace

DriverMemory::DriverMemory(const std::string& bus_id, const char* library) : library_(open_library(library)) {
  const auto init = function_of<Init>(library_, "nvmlInit_v2");
  const auto find_card = function_of<FindCard>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto get_memory = function_of<GetMemory>(library_, "nvmlDeviceGetMemoryInfo");
  const bool there = init != nullptr && find_card != nullptr && get_memory != nullptr &&
                     function_of<Shutdown>(library_, "nvmlShutdown") != nullptr && init() == 0;
  if (!there) {
    if (library_ != nullptr) close_library(library_);
    library_ = nullptr;
    return;
  }
  Memory memory{};
  if (find_card(bus_id.c_str(), &card_) != 0 || get_memory(card_, &memory) != 0) card_ = nullptr;
  before_ = last_ = static_cast<int64_t>(memory.used);
}

DriverMemory::~DriverMemory() {
  if (library_ == nullptr) return;
  function_of<Shutdown>(library_, "nvmlShutdown")();
  close_library(library_);
}

int64_t DriverMemory::grown_bytes() const {
  Memory memory{};
  if (function_of<GetMemory>(library_, "nvmlDeviceGetMemoryInfo")(card_, &memory) == 0)
    last_ = static_cast<int64_t>(memory.used);
  return last_ - before_;
}

}  // namespace headroom::gpu
