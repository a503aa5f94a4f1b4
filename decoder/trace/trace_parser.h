#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/trace/trace.h"

namespace headroom {

// Upper bounds for values in a trace file. They are far above real traces, but keep memory small.
constexpr int64_t kMostTraceBytes = int64_t{1} << 60;
constexpr int32_t kMostTracePasses = 10'000;
constexpr int64_t kMostTraceLayers = 100'000;
constexpr int32_t kMostTraceSteps = 10'000;
constexpr int64_t kMostTraceNames = 100'000;

/// A parsed trace file. `traces` holds the rows of the long lists. `document` holds all else; its long lists
/// are empty.
struct ParsedTraces {
  nlohmann::json document;
  std::vector<Trace> traces;  ///< one per element of "ranks", or a single one
};

/// Parses a trace. It converts each row at once and drops its JSON values, because there may be millions.
/// The caller checks references from rows to layers and passes. Throws InputError naming `origin` and the
/// path.
ParsedTraces parse_traces(const std::string& text, const std::string& origin);

/// The names that rows and kinds are read by, under their keys in a trace file: the columns of each long list
/// ("event_fields"), and all kinds of memory and activity ("kinds", "activity_kinds").
nlohmann::json trace_names();
/// Likewise for the value of "rank": "call_fields" and "call_names".
nlohmann::json rank_call_names();

}  // namespace headroom
