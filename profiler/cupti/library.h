#pragma once

#include <cupti.h>

#include <filesystem>
#include <string>
#include <vector>

namespace headroom::profiler::cupti {

/// CUPTI's functions, found when they are needed: programs do not link it and run without it.
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
  const Library* library = nullptr;  ///< for as long as the process runs
  std::string why_not;               ///< one line, where there is none
};

/// The first of these that can be loaded. Where the process has one of that name already, this is taken: two
/// CUPTIs do not bear one another.
LoadedLibrary load_library(const std::vector<std::filesystem::path>& paths);

}  // namespace headroom::profiler::cupti
