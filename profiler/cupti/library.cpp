#include "profiler/cupti/library.h"

#include <map>
#include <mutex>

#include "decoder/base/os/load_module.h"

namespace headroom::profiler::cupti {
namespace {

namespace fs = std::filesystem;

template <typename Function>
bool find(void* handle, const char* name, Function& function) {
  function = function_of<Function>(handle, name);
  return function != nullptr;
}

/// Loads all functions. Returns the name of a missing one, or null.
const char* find_all(void* handle, Library& library) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!find(handle, name, function) && missing == nullptr) missing = name;
  };
  need("cuptiGetVersion", library.get_version);
  need("cuptiGetResultString", library.get_result_string);
  need("cuptiGetTimestamp", library.get_timestamp);
  need("cuptiSubscribe_v2", library.subscribe);
  need("cuptiUnsubscribe", library.unsubscribe);
  need("cuptiActivitySetAttribute", library.set_attribute);
  need("cuptiActivityRegisterCallbacks", library.register_callbacks);
  need("cuptiActivityEnable", library.enable);
  need("cuptiActivityDisable", library.disable);
  need("cuptiActivityEnableDriverApi", library.enable_driver_call);
  need("cuptiActivityEnableRuntimeApi", library.enable_runtime_call);
  need("cuptiActivityFlushAll", library.flush_all);
  need("cuptiActivityGetNextRecord", library.get_next_record);
  need("cuptiActivityGetNumDroppedRecords", library.get_dropped_records);
  need("cuptiActivityPushExternalCorrelationId", library.push_external_id);
  need("cuptiActivityPopExternalCorrelationId", library.pop_external_id);
  return missing;
}

void* open(const fs::path& path) {
  void* there = loaded_library(path.filename().c_str());
  return there != nullptr ? there : open_library(path.c_str());
}

}  // namespace

std::string Library::version() const {
  uint32_t version = 0;
  if (get_version(&version) != CUPTI_SUCCESS) return "CUPTI";
  if (version < 10000) return "CUPTI " + std::to_string(version);
  // For example, 130001 belongs to CUDA 13.0 Update 1.
  return "CUPTI " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string Library::text(CUptiResult result) const {
  const char* text = nullptr;
  if (get_result_string(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
  return "CUPTI error " + std::to_string(static_cast<int>(result));
}

LoadedLibrary load_library(const std::vector<fs::path>& paths) {
  std::string why_not;
  for (const fs::path& path : paths) {
    void* handle = open(path);
    if (handle == nullptr) {
      if (why_not.empty()) why_not = "cannot load CUPTI: " + library_failure();
      continue;
    }
    Library library{};
    if (const char* missing = find_all(handle, library)) {
      close_library(handle);
      if (why_not.empty()) why_not = path.string() + " has no " + missing;
      continue;
    }
    // Never closed or destroyed: CUPTI's own threads may call back at any time.
    static std::mutex mutex;
    static auto* loaded = new std::map<void*, Library>;
    const std::lock_guard lock(mutex);
    return {&loaded->emplace(handle, library).first->second, {}};
  }
  return {nullptr, why_not.empty() ? "CUPTI is nowhere to be found" : why_not};
}

}  // namespace headroom::profiler::cupti
