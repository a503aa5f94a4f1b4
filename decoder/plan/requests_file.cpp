#include "decoder/plan/requests_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>

#include "decoder/base/json_fields.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/graph_names.h"
#include "decoder/plan/plan_file.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int64_t kMostFrames = 1'000'000;
constexpr int64_t kMostBatch = 4096;
constexpr size_t kMostRequestNameBytes = 200;
constexpr size_t kMostPathBytes = 4096;

std::string text_of(const JsonFields& fields, size_t most_bytes) {
  std::string text = fields.text();
  if (text.empty() || text.size() > most_bytes) {
    fields.fail("expected 1 to " + std::to_string(most_bytes) + " bytes, found " +
                std::to_string(text.size()));
  }
  return text;
}

int64_t integer_or(const JsonFields& fields, const char* key, int64_t least, int64_t most,
                   int64_t otherwise) {
  return fields.has(key) ? fields[key].integer(least, most) : otherwise;
}

json to_json(const QueuedRequest& request) {
  json out{{"name", request.name},
           {"width_pixels", request.width_pixels},
           {"height_pixels", request.height_pixels}};
  if (request.frames != 1) out["frames"] = request.frames;
  if (request.batch != 1) out["batch"] = request.batch;
  if (request.count != 1) out["count"] = request.count;
  if (request.latents.size() == 1) out["latent"] = request.latents.front();
  if (request.latents.size() > 1) out["latent"] = request.latents;
  if (!request.latent_scale.empty()) out["latent_scale"] = request.latent_scale;
  if (!request.output.empty()) out["output"] = request.output;
  return out;
}

/// Rejects unknown keys in a list written by hand. Programs write planned lists, and newer versions may add
/// keys to them.
void require_known(const JsonFields& file, const JsonFields& list, size_t entries) {
  if (file.has("planned")) return;
  require_known_keys(file, {"schema", "version", "model", "dtype", "device", "tf32", "requests"});
  for (size_t i = 0; i < entries; ++i) {
    require_known_keys(list[i], {"name", "width_pixels", "height_pixels", "frames", "batch", "count",
                                 "latent", "latent_scale", "output", "device"});
  }
}

QueuedRequest read_request_entry(const JsonFields& fields) {
  QueuedRequest request;
  request.name = text_of(fields["name"], kMostRequestNameBytes);
  request.width_pixels = fields["width_pixels"].integer(1, kMostPixels);
  request.height_pixels = fields["height_pixels"].integer(1, kMostPixels);
  request.frames = integer_or(fields, "frames", 1, kMostFrames, 1);
  request.batch = integer_or(fields, "batch", 1, kMostBatch, 1);
  request.count = integer_or(fields, "count", 1, kMostPictures, 1);
  if (fields.has("latent")) {
    const JsonFields latent = fields["latent"];
    if (latent.is_array()) {
      const size_t found = latent.size(static_cast<size_t>(kMostPictures));
      if (static_cast<int64_t>(found) != request.count) {
        latent.fail("expected a path for each of the " + std::to_string(request.count) +
                    " repetitions, found " + std::to_string(found));
      }
      for (size_t i = 0; i < found; ++i) request.latents.push_back(text_of(latent[i], kMostPathBytes));
    } else {
      request.latents.push_back(text_of(latent, kMostPathBytes));
    }
  }
  if (fields.has("latent_scale")) {
    request.latent_scale = fields["latent_scale"].text();
    if (request.latent_scale != "none" && request.latent_scale != "model" && request.latent_scale != "auto") {
      fields["latent_scale"].fail("expected none, model or auto, found " +
                                  fields["latent_scale"].value().dump().substr(0, 40));
    }
  }
  if (fields.has("output")) request.output = text_of(fields["output"], kMostPathBytes);
  return request;
}

/// Reads the device of the file or of one request. All must name the same device.
void take_device(const JsonFields& fields, const DeviceRecord*& device) {
  if (!fields.has("device")) return;
  const std::string found = fields["device"].value().dump().substr(0, 40);
  const DeviceRecord* named = find_device(fields["device"].text());
  if (named == nullptr) fields["device"].fail("expected " + device_names() + ", found " + found);
  if (device != nullptr && device != named)
    fields["device"].fail(std::string("expected ") + device->name +
                          " as before: a queue has one device for all, found " + found);
  device = named;
}

/// The output file names of one decode, one per picture or clip of the batch. A folder of frames counts as
/// one name.
std::vector<std::string> output_files(const QueuedRequest& request, int64_t repetition) {
  const std::filesystem::path path =
      std::filesystem::path(path_for(request.output, request, repetition)).lexically_normal();
  const std::string suffix = path.extension().string();
  if (!path.has_filename()) return {path.parent_path().string()};
  constexpr std::array kOfOneItem{".png", ".jpg", ".jpeg", ".webp", ".y4m"};
  const bool of_one = std::find(kOfOneItem.begin(), kOfOneItem.end(), lower_case(suffix)) != kOfOneItem.end();
  if (!of_one || request.batch == 1) return {path.string()};
  std::vector<std::string> files;
  for (int64_t item = 0; item < request.batch; ++item) {
    files.push_back(
        (path.parent_path() / (path.stem().string() + "-" + std::to_string(item) + suffix)).string());
  }
  return files;
}

void check_outputs_differ(const JsonFields& list, const std::vector<QueuedRequest>& requests) {
  std::unordered_set<std::string> taken;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].output.empty()) continue;
    for (int64_t repetition = 0; repetition < requests[i].count; ++repetition) {
      for (std::string& file : output_files(requests[i], repetition)) {
        const std::string shown = json(file).dump().substr(0, 160);
        if (taken.insert(std::move(file)).second) continue;
        list[i]["output"].fail(
            "expected a file of its own for each decode ({i} stands for the repetition), found " + shown +
            " twice");
      }
    }
  }
}

/// Checks that the order contains each repetition of each request once, with a plan of its shape.
void check_order(const JsonFields& file, const RequestQueue& queue) {
  std::vector<std::vector<bool>> seen;
  for (const QueuedRequest& request : queue.requests)
    seen.emplace_back(static_cast<size_t>(request.count), false);
  std::vector<bool> used(queue.plans.size(), false);
  for (size_t i = 0; i < queue.order.size(); ++i) {
    const QueuedDecode& decode = queue.order[i];
    const auto request_index = static_cast<size_t>(decode.request);
    const QueuedRequest& request = queue.requests[request_index];
    if (decode.repetition >= request.count) {
      file["order"][i]["repetition"].fail("expected less than the request's count of " +
                                          std::to_string(request.count));
    }
    std::vector<bool>::reference here = seen[request_index][static_cast<size_t>(decode.repetition)];
    if (here) file["order"][i].fail("the decode was listed before");
    here = true;
    const Request& planned = queue.plans[static_cast<size_t>(decode.plan)].request;
    if (std::tie(planned.width_pixels, planned.height_pixels, planned.frames, planned.batch) !=
        std::tie(request.width_pixels, request.height_pixels, request.frames, request.batch)) {
      file["order"][i]["plan"].fail("expected a plan for the shape of requests[" +
                                    std::to_string(decode.request) + "]");
    }
    used[static_cast<size_t>(decode.plan)] = true;
  }
  // No decode is listed twice, so the list is complete if its length matches.
  int64_t decodes = 0;
  for (const QueuedRequest& request : queue.requests) decodes += request.count;
  if (static_cast<int64_t>(queue.order.size()) != decodes) {
    file["order"].fail("expected all " + std::to_string(decodes) + " decodes, found " +
                       std::to_string(queue.order.size()));
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) file["plans"][i].fail("no decode uses it");
  }
}

}  // namespace

json to_json(const RequestQueue& queue, const Graph& graph) {
  json out{{"schema", "headroom.requests"}, {"version", kRequestsVersion}, {"requests", json::array()}};
  if (!queue.model.empty()) out["model"] = queue.model;
  if (queue.dtype) out["dtype"] = name_of(*queue.dtype);
  if (!device_record(queue.device).is_host) out["device"] = name_of(queue.device);
  if (queue.tf32.any()) out["tf32"] = name_of(queue.tf32);
  for (const QueuedRequest& request : queue.requests) out["requests"].push_back(to_json(request));
  if (!queue.planned) return out;
  const QueuePrediction prediction = predict(queue);
  out["planned"] = true;
  out["limit_bytes"] = queue.limit_bytes;
  out["pool_bytes"] = prediction.pool_bytes;
  out["predicted"] = {{"peak_bytes", prediction.peak_bytes}, {"seconds", prediction.seconds}};
  out["order"] = json::array();
  for (const QueuedDecode& decode : queue.order) {
    out["order"].push_back(
        {{"request", decode.request}, {"repetition", decode.repetition}, {"plan", decode.plan}});
  }
  out["plans"] = json::array();
  for (const Plan& plan : queue.plans) out["plans"].push_back(to_json(plan, graph));
  return out;
}

RequestQueue requests_from_json(const JsonFields& file) {
  check_schema(file, "headroom.requests", kRequestsVersion);
  RequestQueue queue;
  if (file.has("model")) queue.model = text_of(file["model"], kMostPathBytes);
  if (file.has("dtype")) {
    const std::string dtype = file["dtype"].text();
    try {
      queue.dtype = parse_dtype(dtype);
    } catch (const InputError&) {  // rethrown below with the file and the key
      file["dtype"].fail("expected fp32, bf16 or fp16, found " + file["dtype"].value().dump().substr(0, 40));
    }
  }
  const DeviceRecord* device = nullptr;
  take_device(file, device);
  queue.tf32 = tf32_from_json(file);
  const JsonFields list = file["requests"];
  const size_t entries = list.size(static_cast<size_t>(kMostPictures));
  if (entries == 0) list.fail("expected at least one request, found none");
  require_known(file, list, entries);
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> shapes;
  int64_t pictures = 0;
  for (size_t i = 0; i < entries; ++i) {
    const QueuedRequest request = read_request_entry(list[i]);
    take_device(list[i], device);
    pictures += request.count * request.batch;
    if (pictures > kMostPictures)
      list[i].fail("expected at most " + std::to_string(kMostPictures) + " pictures in the queue");
    shapes.insert({request.width_pixels, request.height_pixels, request.frames, request.batch});
    if (static_cast<int64_t>(shapes.size()) > kMostShapes) {
      list[i].fail("expected at most " + std::to_string(kMostShapes) + " distinct shapes in the queue");
    }
    queue.requests.push_back(request);
  }
  if (device != nullptr) queue.device = device->kind;
  check_outputs_differ(list, queue.requests);
  return queue;
}

RequestQueue planned_requests_from_json(const JsonFields& file) {
  check_schema(file, "headroom.requests", kRequestsVersion);
  if (!file.has("planned") || !file["planned"].boolean()) {
    file.fail("the requests are not planned yet: expected a file that `headroom-plan queue` wrote");
  }
  return requests_from_json(file);
}

RequestQueue planned_queue_from_json(const JsonFields& file, const Graph& graph) {
  RequestQueue queue = planned_requests_from_json(file);
  queue.planned = true;
  queue.limit_bytes = file["limit_bytes"].integer(0, INT64_MAX);
  const JsonFields plans = file["plans"];
  const size_t plan_count = plans.size(static_cast<size_t>(kMostShapes));
  if (plan_count == 0) plans.fail("expected at least one plan, found none");
  for (size_t i = 0; i < plan_count; ++i) {
    Plan plan = of_own_model(queue.model, [&] { return plan_from_json(plans[i], graph); });
    if (plan.limit_bytes != queue.limit_bytes) plans[i]["limit_bytes"].fail("expected the queue's own limit");
    if (i > 0 && plan.request.dtype != queue.plans[0].request.dtype)
      plans[i]["request"]["dtype"].fail("expected the same dtype in all plans");
    if (plan.request.tf32 != queue.tf32)
      plans[i]["request"].fail(std::string("tf32: expected the queue's own, ") + name_of(queue.tf32) +
                               ", found " + name_of(plan.request.tf32));
    if (plan.request.device != queue.device)
      plans[i]["request"].fail(std::string("expected the queue's own device, found ") +
                               name_of(plan.request.device));
    queue.plans.push_back(std::move(plan));
  }
  const JsonFields order = file["order"];
  const size_t decodes = order.size(static_cast<size_t>(kMostPictures));
  for (size_t i = 0; i < decodes; ++i) {
    const auto number = [&](const char* key, size_t count) {
      return static_cast<int32_t>(order[i][key].integer(0, static_cast<int64_t>(count) - 1));
    };
    queue.order.push_back({number("request", queue.requests.size()),
                           number("repetition", static_cast<size_t>(kMostPictures)),
                           number("plan", queue.plans.size())});
  }
  check_order(file, queue);
  return queue;
}

json read_requests_file(const std::filesystem::path& file) {
  return read_json_file(file, kMostJsonBytes);
}

void write_queue(const std::filesystem::path& file, const RequestQueue& queue, const Graph& graph) {
  const std::string text = json_text(to_json(queue, graph), 1) + '\n';
  check_json(text, file.string() + ": too large a queue, split it");
  write_file_whole(file, text);
}

}  // namespace headroom
