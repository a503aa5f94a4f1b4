#pragma once

#include <nlohmann/json_fwd.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Value of the key "rank" in a trace file (docs/formats.md). Times of calls are rounded to microseconds.
nlohmann::json to_json(const TraceRank& rank);

/// Parses it and checks every number. Pass numbers must be below `passes`. Throws InputError naming the file
/// and the key.
TraceRank rank_from_json(const JsonFields& fields, int64_t passes);

}  // namespace headroom
