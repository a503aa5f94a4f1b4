#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "decoder/base/json_fields.h"
#include "decoder/plan/requests.h"

namespace headroom {

/// The newest version of "headroom.requests" that this build writes and reads.
constexpr int64_t kRequestsVersion = 1;

// Upper bounds on a queue.
constexpr int64_t kMostPictures = 100'000;  ///< repetitions times batch, of all requests together
constexpr int64_t kMostShapes = 1'000;      ///< distinct sizes

/// A queue as a JSON document (docs/formats.md). Plans refer to tensors and operations by name, so `graph`
/// must be the one they were made for.
nlohmann::json to_json(const RequestQueue& queue, const Graph& graph);

/// Reads the requests of a document, planned or not, without order and plans. Throws InputError naming the
/// file and the key. Rejects two decodes with the same output, and queues beyond the bounds above.
RequestQueue requests_from_json(const JsonFields& file);

/// Like requests_from_json(), but rejects a queue that was not planned. Makes this check before it reads
/// other keys.
RequestQueue planned_requests_from_json(const JsonFields& file);

/// Reads a planned queue with its plans. Checks order and plans against the requests. The validator checks
/// whether a plan is correct. Throws InputError naming the file and the key.
RequestQueue planned_queue_from_json(const JsonFields& file, const Graph& graph);

/// Reads at most 256 MiB. The result is for requests_from_json() and planned_queue_from_json().
nlohmann::json read_requests_file(const std::filesystem::path& file);

/// Writes the file whole or not at all. Throws InputError if the file would exceed the size that can be read,
/// and DeviceError if writing fails.
void write_queue(const std::filesystem::path& file, const RequestQueue& queue, const Graph& graph);

}  // namespace headroom
