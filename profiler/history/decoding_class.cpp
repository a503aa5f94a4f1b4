#include "profiler/history/decoding_class.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "decoder/families/families.h"

namespace headroom::profiler {
namespace {

/// The entry of families() whose decode() contains the frame. Null if there is none.
const Family* class_of(const CodeFrame& frame) {
  if (frame.kind != CodeFrame::Kind::code || frame.function.find("decode") == std::string::npos)
    return nullptr;
  const std::string_view path = frame.file;
  const size_t slash = path.find_last_of("/\\");
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::vector<Family>& all = families();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Family& family) { return family.source_file == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device) {
  std::vector<const Family*> classes(stacks.size(), nullptr);
  for (StackId id = 1; id < stacks.size(); ++id) {  // `below` always has a smaller id
    const Family* own = class_of(stacks.top(id));
    classes[id] = own != nullptr ? own : classes[stacks.below(id)];
  }
  std::map<const Family*, double> bytes;  // in the order of families()
  for (const RecordedAllocation& one : device.allocations)
    if (classes[one.stack] != nullptr) bytes[classes[one.stack]] += double(one.bytes);
  for (const RecordedRefusal& refused : device.refusals)
    if (classes[refused.stack] != nullptr) bytes[classes[refused.stack]] += double(refused.asked_bytes);
  if (bytes.empty()) return std::nullopt;
  const Family* most = std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
  DecodingClass found{std::string(most->class_name)};
  for (const RecordedAllocation& one : device.allocations) found.allocations += classes[one.stack] == most;
  return found;
}

}  // namespace headroom::profiler
