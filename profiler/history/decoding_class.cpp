#include "profiler/history/decoding_class.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "decoder/graph/families/families.h"

namespace headroom::profiler {
namespace {

constexpr size_t kNoClass = SIZE_MAX;

/// Index in families() of the class whose decode() contains the frame, or kNoClass.
size_t class_of(const CodeFrame& frame) {
  if (frame.kind != CodeFrame::Kind::code || frame.function.find("decode") == std::string::npos)
    return kNoClass;
  const std::string_view path = frame.file;
  const size_t slash = path.find_last_of("/\\");
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::vector<Family>& all = families();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Family& family) { return family.source_file == name; });
  return found == all.end() ? kNoClass : static_cast<size_t>(found - all.begin());
}

}  // namespace

std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device) {
  std::vector<size_t> classes(stacks.size(), kNoClass);
  std::vector<bool> tiled(stacks.size(), false);
  for (StackId id = 1; id < stacks.size(); ++id) {  // `below` always has a smaller id
    const size_t own = class_of(stacks.top(id));
    classes[id] = own != kNoClass ? own : classes[stacks.below(id)];
    tiled[id] = tiled[stacks.below(id)] ||
                (own != kNoClass && stacks.top(id).function.find("tiled") != std::string::npos);
  }
  std::map<size_t, double> bytes;
  for (const RecordedAllocation& one : device.allocations)
    if (classes[one.stack] != kNoClass) bytes[classes[one.stack]] += double(one.bytes);
  for (const RecordedRefusal& refused : device.refusals)
    if (classes[refused.stack] != kNoClass) bytes[classes[refused.stack]] += double(refused.asked_bytes);
  if (bytes.empty()) return std::nullopt;
  const size_t most = std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  DecodingClass found;
  found.name = families()[most].class_name;
  found.decodes.resize(stacks.size());
  for (size_t id = 0; id < stacks.size(); ++id) found.decodes[id] = classes[id] == most;
  for (const RecordedAllocation& one : device.allocations) {
    if (!found.decodes[one.stack]) continue;
    ++found.allocations;
    found.tiled = found.tiled || tiled[one.stack];
  }
  return found;
}

}  // namespace headroom::profiler
