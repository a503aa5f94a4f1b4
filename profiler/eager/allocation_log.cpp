#include "profiler/eager/allocation_log.h"

#include <algorithm>

namespace headroom::profiler {
namespace {

constexpr const char* kNameless = "workspace";

}  // namespace

void AllocationLog::taken(uint64_t address, int64_t bytes, int64_t reserved_bytes) {
  returned(address,
           moments_.back().reserved_bytes);  // where that was reported to nobody, as on another thread
  live_[address] = allocations_.size();
  allocations_.push_back({bytes, moments_.size(), SIZE_MAX, {}});
  moments_.push_back({moments_.back().live_bytes + bytes, reserved_bytes});
}

void AllocationLog::returned(uint64_t address, int64_t reserved_bytes) {
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Allocation& allocation = allocations_[found->second];
  allocation.end = moments_.size();
  moments_.push_back({moments_.back().live_bytes - allocation.bytes, reserved_bytes});
  live_.erase(found);
}

void AllocationLog::name(uint64_t address, const std::string& name) {
  const auto found = live_.find(address);
  if (found != live_.end()) allocations_[found->second].name = name;
}

void AllocationLog::begin_decode() {
  decode_begin_ = moments_.size() - 1;
}

void AllocationLog::begin_layer(size_t layer) {
  spans_.push_back({layer, moments_.size() - 1, 0, 0, 0});
}

void AllocationLog::end_layer(uint64_t result, double seconds) {
  Span& span = spans_.back();
  span.end = moments_.size() - 1;
  span.seconds = seconds;
  const auto found = live_.find(result);
  if (found != live_.end() && allocations_[found->second].begin > span.begin)
    span.activation_bytes = allocations_[found->second].bytes;
}

size_t AllocationLog::highest(size_t begin, size_t end) const {
  const auto first = moments_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = moments_.begin() + static_cast<std::ptrdiff_t>(end);
  const auto most = std::max_element(
      first, last, [](const Moment& a, const Moment& b) { return a.live_bytes < b.live_bytes; });
  return static_cast<size_t>(most - moments_.begin());
}

size_t AllocationLog::peak_layer(size_t layers) const {
  const size_t peak = highest(decode_begin_, moments_.size());
  for (const Span& span : spans_) {
    if (span.begin < peak && peak <= span.end) return span.layer;
  }
  return layers;
}

RecordedEagerDecode AllocationLog::recorded(size_t layers) const {
  RecordedEagerDecode decode;
  decode.layers.resize(layers);
  for (const Span& span : spans_) {
    RecordedLayer& layer = decode.layers[span.layer];
    layer.seconds += span.seconds;
    const Moment& most = moments_[highest(span.begin, span.end + 1)];
    if (most.live_bytes <= layer.live_bytes) continue;
    layer.live_bytes = most.live_bytes;
    layer.activation_bytes = span.activation_bytes;
    layer.workspace_bytes =
        std::max<int64_t>(0, most.live_bytes - moments_[span.begin].live_bytes - span.activation_bytes);
    layer.slack_bytes = most.reserved_bytes - most.live_bytes;
  }
  const size_t peak = highest(decode_begin_, moments_.size());
  decode.peak_bytes = moments_[peak].live_bytes;
  decode.peak_slack_bytes = moments_[peak].reserved_bytes - decode.peak_bytes;
  std::map<std::string, int64_t> held;
  for (const Allocation& allocation : allocations_) {
    if (allocation.begin <= peak && peak < allocation.end)
      held[allocation.name.empty() ? kNameless : allocation.name] += allocation.bytes;
  }
  for (const auto& [name, bytes] : held) decode.peak_live.push_back({name, bytes});
  std::stable_sort(decode.peak_live.begin(), decode.peak_live.end(),
                   [](const EagerTensor& a, const EagerTensor& b) { return a.bytes > b.bytes; });
  return decode;
}

}  // namespace headroom::profiler
