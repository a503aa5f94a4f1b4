#include <cstdlib>
#include <cstring>

// In the place of NVIDIA's management library: one card, whose memory the environment tells.
namespace {

int sessions = 0;
int card = 0;

bool says(const char* variable, const char* value) {
  const char* set = std::getenv(variable);
  return set != nullptr && std::strcmp(set, value) == 0;
}

}  // namespace

extern "C" {

struct FakeMemory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  if (says("FAKE_NVML", "does not start")) return 9;
  ++sessions;
  return 0;
}

#ifndef HEADROOM_FAKE_NVML_OLD
int nvmlShutdown() {
  --sessions;
  return 0;
}
#endif

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** found) {
  if (sessions < 1) return 1;
  if (std::strcmp(bus_id, "0000:19:00.0") != 0) return 6;
  *found = &card;
  return 0;
}

int nvmlDeviceGetMemoryInfo(void* of, FakeMemory* memory) {
  if (sessions < 1 || of != &card) return 1;
  if (says("FAKE_NVML", "does not answer")) return 15;
  const unsigned long long total = 80ull << 30;
  const char* used = std::getenv("FAKE_NVML_USED");
  memory->total = total;
  memory->used = used == nullptr ? 0 : std::strtoull(used, nullptr, 10);
  memory->free = total - memory->used;
  return 0;
}

int fake_nvml_sessions() {
  return sessions;
}
}
