#include "reports/figures/decoder_need.h"

#include <algorithm>

#include "decoder/operations/operation.h"
#include "planner/explain/explain.h"
#include "planner/explain/peak.h"
#include "reports/figures/document.h"
#include "reports/figures/history.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostLimits = 8;

const planner::FrontierPoint* fastest_within(const DecoderNeed& need, int64_t bytes) {
  const auto found =
      std::find_if(need.points.begin(), need.points.end(),
                   [&](const planner::FrontierPoint& point) { return point.peak_bytes <= bytes; });
  return found == need.points.end() ? nullptr : &*found;
}

std::string request_words(const Request& request) {
  return model_title(request.model) + " " + std::to_string(request.width_pixels) + "×" +
         std::to_string(request.height_pixels) + " " + arithmetic_of(request) + " on " +
         name_of(request.device) +
         (request.frames > 1 ? ", " + std::to_string(request.frames) + " frames" : "") +
         (request.batch > 1 ? ", batch " + std::to_string(request.batch) : "");
}

/// Says that the recording lacks the decoder's weights. Empty if it has them, or if that is unknown.
std::string weights_sentence(const DecoderNeed& need, const profiler::CodeStacks& stacks,
                             const profiler::DeviceHistory& device) {
  if (!profiler::decoding_class(stacks, device)) return "";
  if (profiler::bytes_beside_decode(stacks, device) >= need.weights_bytes) return "";
  return "The untiled peak contains the decoder's weights, " +
         format(Unit::bytes, double(need.weights_bytes)) +
         ". The recording does not contain them. Without weights, the untiled peak is " +
         format(Unit::bytes, double(need.untiled_bytes - need.weights_bytes)) + ".";
}

}  // namespace

std::string class_mismatch(const DecoderNeed& need, const profiler::CodeStacks& stacks,
                           const profiler::DeviceHistory& device) {
  const auto found = profiler::decoding_class(stacks, device);
  if (!found || found->name == need.class_name) return "";
  return "The recording is of " + found->name + ", and " + model_title(need.request.model) + " is of class " +
         need.class_name + ": choose a model of the recording's class to compare.";
}

DecoderNeed decoder_need(const Model& model, const Request& request, const planner::PlanOptions& options,
                         const planner::CostModel& costs) {
  DecoderNeed need;
  need.request = request;
  need.class_name = model.class_name;
  need.weights_bytes = parameter_elements(model.graph) * bytes_per_element(request.dtype);
  need.untiled_bytes = planner::untiled_peak(model, request, costs).bytes;
  need.points = planner::frontier({model, request, options, costs}, kMostLimits);
  need.smallest_bytes = need.points.back().peak_bytes;
  need.assumed = costs.assumed();
  return need;
}

Table need_table(const DecoderNeed& need, std::optional<int64_t> available_bytes) {
  Table table{"What Headroom needs", {}, {}};
  table.columns = {
      {.title = "decode", .is_text = true},
      {.title = "limit",
       .unit = Unit::bytes,
       .bars = true,
       .explanation = "Device memory, weights included."},
      {.title = "time",
       .unit = Unit::seconds,
       .explanation = need.assumed ? "Predicted by assumed costs." : "Predicted by the profile."},
      {.title = "weights",
       .is_text = true,
       .explanation = "throughout: all weights stay in memory. per pass: each pass loads its own."}};
  table.rows.push_back({{"untiled", double(need.untiled_bytes), {}, {}}, false});
  const planner::FrontierPoint* fits = available_bytes ? fastest_within(need, *available_bytes) : nullptr;
  for (const planner::FrontierPoint& point : need.points) {
    const bool smallest = &point == &need.points.back();
    const bool fastest = &point == &need.points.front();
    table.rows.push_back(
        {{fastest    ? "planned, fastest"
          : smallest ? "planned, smallest"
                     : "planned",
          double(point.peak_bytes), point.seconds, planner::words_of(point.configuration.weights)},
         &point == fits});
  }
  return table;
}

std::vector<std::string> need_sentences(const DecoderNeed& need, const profiler::CodeStacks& stacks,
                                        const profiler::DeviceHistory& device,
                                        std::optional<int64_t> limit_bytes) {
  const auto bytes = [](int64_t value) { return format(Unit::bytes, double(value)); };
  std::vector<std::string> sentences{
      "Headroom decodes " + request_words(need.request) + " within " + bytes(need.smallest_bytes) +
      " or more, weights included; untiled it takes " + bytes(need.untiled_bytes) +
      ", and the recording's peak is " + bytes(device.allocated_bytes[device.peak()]) + " on " +
      device.device + "."};
  for (const std::string& sentence :
       {class_mismatch(need, stacks, device), weights_sentence(need, stacks, device)}) {
    if (!sentence.empty()) sentences.push_back(sentence);
  }
  const std::optional<int64_t> available = limit_bytes ? limit_bytes : available_bytes(device);
  if (!available) return sentences;
  const planner::FrontierPoint* fits = fastest_within(need, *available);
  const std::string had =
      limit_bytes ? "limit of " + bytes(*available)
                  : bytes(*available) + " that PyTorch had on " + device.device + " when it ran out";
  if (fits == nullptr) {
    sentences.push_back("That is more than the " + had +
                        ": decode a smaller picture, or keep tensors in host memory.");
  } else {
    sentences.push_back("Within the " + had + " it takes " + format(Unit::seconds, fits->seconds) +
                        (need.assumed ? " by stated assumptions" : " by the profile") + ", with a peak of " +
                        bytes(fits->peak_bytes) + ". Other memory of the process must fit beside it.");
  }
  return sentences;
}

}  // namespace headroom::reports
