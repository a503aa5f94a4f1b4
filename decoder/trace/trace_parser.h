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

/// A trace's file, parsed: the rows of its long lists in `trace`, all else in a document in which these lists
/// are without elements.
struct ParsedTrace {
  nlohmann::json document;
  Trace trace;
};

/// Checks each row while the text is parsed, so that no JSON value is made for any of millions of numbers.
/// What a row may refer to, layers and passes, is for the caller to check. Throws InputError naming `origin`
/// and the path.
ParsedTrace parse_trace(const std::string& text, const std::string& origin);

// What the positions in a row stand for.
std::vector<std::string> event_field_names();
std::vector<std::string> activity_field_names();
std::vector<std::string> driver_field_names();
std::vector<std::string> tile_field_names();
std::vector<std::string> outside_field_names();
std::vector<std::string> place_field_names();

}  // namespace headroom
