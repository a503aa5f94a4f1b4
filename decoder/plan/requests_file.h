#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "decoder/graph/json_fields.h"
#include "decoder/plan/requests.h"

namespace headroom {

/// The newest version of "headroom.requests" that this build writes and reads.
constexpr int64_t kRequestsVersion = 1;

// Bounds on what a queue may ask for.
constexpr int64_t kMostPictures = 100'000;  ///< repetitions times batch, of all requests together
constexpr int64_t kMostShapes = 1'000;      ///< distinct sizes

/// A queue as the document that docs/formats.md describes. Plans are written by the names of `graph`, the one
/// they were made for.
nlohmann::json to_json(const RequestQueue& queue, const Graph& graph);

/// The requests of a document, planned or not, without order and plans. Throws InputError naming the file and
/// the key: also where two decodes have the same output or the bounds above are passed.
RequestQueue requests_from_json(const JsonFields& file);

/// Like requests_from_json(), for a queue that must be planned. Checks this before it reads other keys.
RequestQueue planned_requests_from_json(const JsonFields& file);

/// A planned queue with its plans. Order and plans are checked against the requests; whether a plan is a
/// correct one is the validator's business. Throws InputError naming the file and the key.
RequestQueue planned_queue_from_json(const JsonFields& file, const Graph& graph);

/// Reads at most 256 MiB; for requests_from_json and planned_queue_from_json.
nlohmann::json read_requests_file(const std::filesystem::path& file);

/// Writes the file whole or not at all. Throws InputError where it would be larger than may be read,
/// DeviceError.
void write_queue(const std::filesystem::path& file, const RequestQueue& queue, const Graph& graph);

}  // namespace headroom
