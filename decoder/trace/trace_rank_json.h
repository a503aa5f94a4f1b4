#pragma once

#include <nlohmann/json_fwd.hpp>

#include "decoder/graph/json_fields.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// The key "rank" of a trace's file (docs/formats.md); times of calls to the microsecond.
nlohmann::json to_json(const TraceRank& rank);

/// Checks every number; passes are below `passes`. Throws InputError naming the file and the key.
TraceRank rank_from_json(const JsonFields& fields, int64_t passes);

}  // namespace headroom
