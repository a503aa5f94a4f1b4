// Holds CUPTI before a program begins, as a profiler does that was there first: g++ -shared -fPIC, then
// LD_PRELOAD. HOLD_CUPTI_LIBRARY names the library. Says on standard error whether it holds it.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

[[gnu::constructor]] void hold() {
  const char* path = std::getenv("HOLD_CUPTI_LIBRARY");
  void* library = dlopen(path == nullptr ? "libcupti.so.13" : path, RTLD_NOW | RTLD_GLOBAL);
  const auto subscribe =
      library == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&cuptiSubscribe_v2)>(dlsym(library, "cuptiSubscribe_v2"));
  if (subscribe == nullptr) {
    std::fprintf(stderr, "hold_cupti: no cuptiSubscribe_v2\n");
    return;
  }
  static CUpti_SubscriberHandle subscriber;
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "hold_cupti";
  const CUptiResult result = subscribe(&subscriber, nothing, nullptr, &parameters);
  std::fprintf(stderr, "hold_cupti: %s (%d)\n", result == CUPTI_SUCCESS ? "holds" : "refused",
               static_cast<int>(result));
}

}  // namespace
