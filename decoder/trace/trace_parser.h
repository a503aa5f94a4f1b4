#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/trace/trace.h"

namespace headroom {

// Bounds on what a trace may ask for. They lie far above any real one and far below what hurts.
constexpr int64_t kMostTraceBytes = int64_t{1} << 60;
constexpr int32_t kMostTracePasses = 10'000;
constexpr int64_t kMostTraceLayers = 100'000;
constexpr int32_t kMostTraceSteps = 10'000;
constexpr int64_t kMostTraceNames = 100'000;

/// A trace's file, parsed: the rows of its long lists in `traces`, all else in a document in which these
/// lists are without elements.
struct ParsedTraces {
  nlohmann::json document;
  std::vector<Trace> traces;  ///< one for each element of the document's "ranks", or a single one
};

/// Checks each row while the text is parsed and drops its JSON values then, since there are millions of them.
/// The caller checks what a row may refer to, layers and passes. Throws InputError naming `origin` and the
/// path.
ParsedTraces parse_traces(const std::string& text, const std::string& origin);

/// Names of the columns of each long list, by the key that has them in a trace's file: "event_fields".
nlohmann::json trace_field_names();

}  // namespace headroom
