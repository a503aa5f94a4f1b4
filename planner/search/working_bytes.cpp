#include "planner/search/working_bytes.h"

#include <algorithm>

#include "planner/search/pass_option.h"

namespace headroom::planner {

WorkingBytes::WorkingBytes(const Graph& graph, const CostModel& costs, const Sizes& sizes, Pass lowered)
    : graph_(graph),
      costs_(costs),
      sizes_(sizes),
      pass_(std::move(lowered)),
      algorithms_(pass_algorithms(graph, pass_, device_record(sizes.device).algorithms)),
      segments_(
          1 + static_cast<size_t>(std::count_if(pass_.steps.begin(), pass_.steps.end(), acquires_blocks))) {}

std::span<const SegmentBytes> WorkingBytes::last(size_t number) {
  last_.resize(segments_);
  for (size_t i = 0; i < segments_; ++i) last_[i].bytes = bytes_[number * segments_ + i];
  return last_;
}

std::span<const SegmentBytes> WorkingBytes::of_tile(const BandTile& tile, size_t algorithms,
                                                    const std::vector<TensorId>& staged) {
  const auto kept = std::find(staged_.begin(), staged_.end(), staged);
  const auto staged_number = static_cast<uint8_t>(kept - staged_.begin());
  if (kept == staged_.end()) staged_.push_back(staged);
  const Extent& extent = tile.extent;
  std::vector<Known>& heights = known_[{static_cast<int32_t>(extent.t), static_cast<int32_t>(extent.x),
                                        static_cast<uint16_t>(algorithms), staged_number, tile.place}];
  const auto known = std::find_if(heights.begin(), heights.end(),
                                  [&](const Known& other) { return other.height == extent.y; });
  if (known != heights.end()) return last(known->number);
  const auto number = static_cast<uint32_t>(bytes_.size() / segments_);
  heights.push_back({static_cast<int32_t>(extent.y), number});
  pass_.convolutions = algorithms_[algorithms];
  const std::vector<SegmentBytes> of_size =
      step_bytes_by_segment(pass_, step_bytes(graph_, pass_, tile, sizes_, costs_.memory(), staged));
  for (const SegmentBytes& segment : of_size) bytes_.push_back(segment.bytes);
  return last(number);
}

}  // namespace headroom::planner
