#pragma once

#include <cupti.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headroom::profiler::cupti {

/// CUPTI's functions, loaded at run time. Programs do not link CUPTI and run without it.
struct Library {
  decltype(&cuptiGetVersion) get_version;
  decltype(&cuptiGetResultString) get_result_string;
  decltype(&cuptiGetTimestamp) get_timestamp;
  decltype(&cuptiSubscribe_v2) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiActivitySetAttribute) set_attribute;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) get_next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped_records;
  decltype(&cuptiActivityPushExternalCorrelationId) push_external_id;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_external_id;

  /// "CUPTI 13.0.1".
  std::string version() const;
  /// "CUPTI_ERROR_NOT_INITIALIZED".
  std::string text(CUptiResult result) const;
};

struct LoadedLibrary {
  const Library* library = nullptr;  ///< valid until the process ends
  std::string why_not;               ///< one line; empty if `library` is set
};

/// Loads the first of these libraries that works. If the process already has a library of that name, uses
/// that one, since two copies of CUPTI conflict.
LoadedLibrary load_library(const std::vector<std::filesystem::path>& paths);

}  // namespace headroom::profiler::cupti
