#include "profiler/snapshot/memory_snapshot.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "decoder/outputs/whole_file.h"

namespace headroom::profiler {
namespace {

using c10::IValue;
using Dict = c10::Dict<IValue, IValue>;
using List = c10::List<IValue>;

constexpr size_t kMostEntries = 200'000;

Dict make_dict() {
  return Dict(c10::AnyType::get(), c10::AnyType::get());
}
List make_list() {
  return List(c10::AnyType::get());
}

/// One of LibTorch's trace entries.
struct Entry {
  int64_t at_ns = 0;
  const char* action = "";
  uint64_t address = 0;
  int64_t bytes = 0;
  std::string name;  ///< of the frame
  std::string file;
  int64_t line = 0;
};

IValue frames_of(const Entry& entry) {
  List frames = make_list();
  if (!entry.name.empty()) {
    Dict frame = make_dict();
    frame.insert("name", entry.name);
    frame.insert("filename", entry.file);
    frame.insert("line", entry.line);
    frames.push_back(frame);
  }
  return frames;
}

struct Chunk {
  int64_t bytes = 0;
  Entry made;  ///< the entry that took it
};
using Chunks = std::map<uint64_t, Chunk>;

/// Replays a recording in the host's order.
class Snapshot {
 public:
  Snapshot(const DeviceRecording& recording, const Plan& plan, const Graph& graph)
      : plan_(plan), graph_(graph) {
    std::vector<std::pair<int64_t, const DeviceEvent*>> order;
    for (const DeviceEvent& event : recording.events) {
      const int64_t* at_ns = time_of(event);
      if (at_ns != nullptr) order.emplace_back(*at_ns, &event);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& entry : order) std::visit([&](const auto& one) { tell(one); }, *entry.second);
  }

  IValue value() const {
    Dict whole = make_dict();
    whole.insert("segments", segments());
    List traces = make_list();
    traces.push_back(trace());
    whole.insert("device_traces", traces);
    whole.insert("allocator_settings", make_dict());
    whole.insert("external_annotations", make_list());
    return whole;
  }

 private:
  static const int64_t* time_of(const DeviceEvent& event) {
    return std::visit(
        [](const auto& one) -> const int64_t* {
          using T = std::decay_t<decltype(one)>;
          constexpr bool kOfUse = std::is_same_v<T, ScopeBegan> || std::is_same_v<T, Allocated> ||
                                  std::is_same_v<T, Freed> || std::is_same_v<T, SegmentChanged> ||
                                  std::is_same_v<T, MemoryRefused>;
          if constexpr (kOfUse) {
            return &one.at_ns;
          } else {
            return nullptr;
          }
        },
        event);
  }

  template <typename Other>
  void tell(const Other&) {}
  void tell(const ScopeBegan& scope) { scope_ = scope; }
  void tell(const Allocated& taken) {
    std::string name = key_of(taken.kind);
    if (taken.layer != TensorId{-1}) name += " " + graph_.tensor(taken.layer).name;
    const std::string pass =
        scope_.pass >= 0 ? plan_.passes[static_cast<size_t>(scope_.pass)].name : "before the passes";
    const Entry entry{
        taken.at_ns, "alloc", taken.address, taken.bytes, name, pass, std::max<int64_t>(0, scope_.tile)};
    live_[taken.address] = {taken.bytes, entry};
    entries_.push_back(entry);
  }
  void tell(const Freed& freed) {
    const auto found = live_.find(freed.address);
    if (found == live_.end()) return;
    for (const char* action : {"free_requested", "free_completed"}) {
      Entry entry = found->second.made;
      entry.at_ns = freed.at_ns;
      entry.action = action;
      entries_.push_back(std::move(entry));
    }
    live_.erase(found);
  }
  void tell(const SegmentChanged& change) {
    const bool taken = change.bytes > 0;
    const Entry entry{change.at_ns,
                      taken ? "segment_alloc" : "segment_free",
                      change.address,
                      std::abs(change.bytes),
                      "",
                      "",
                      0};
    entries_.push_back(entry);
    if (taken) {
      segments_[change.address] = {change.bytes, entry};
    } else {
      segments_.erase(change.address);
    }
  }
  void tell(const MemoryRefused& refused) {
    entries_.push_back(
        {refused.at_ns, "oom", static_cast<uint64_t>(refused.free_bytes), refused.asked_bytes, "", "", 0});
  }

  IValue trace() const {
    List list = make_list();
    const size_t first = entries_.size() > kMostEntries ? entries_.size() - kMostEntries : 0;
    for (size_t i = first; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      Dict one = make_dict();
      one.insert("action", entry.action);
      const bool refused = std::string(entry.action) == "oom";
      one.insert(refused ? "device_free" : "addr", static_cast<int64_t>(entry.address));
      one.insert("size", entry.bytes);
      one.insert("stream", int64_t{0});
      one.insert("time_us", entry.at_ns / 1000);
      one.insert("frames", frames_of(entry));
      list.push_back(one);
    }
    return list;
  }

  IValue segments() const {
    List list = make_list();
    for (const auto& [address, segment] : segments_) {
      List blocks = make_list();
      int64_t used = 0;
      uint64_t next = address;
      const uint64_t end = address + static_cast<uint64_t>(segment.bytes);
      for (auto chunk = live_.lower_bound(address); chunk != live_.end() && chunk->first < end; ++chunk) {
        if (chunk->first > next) blocks.push_back(block(next, chunk->first - next, nullptr));
        blocks.push_back(
            block(chunk->first, static_cast<uint64_t>(chunk->second.bytes), &chunk->second.made));
        used += chunk->second.bytes;
        next = chunk->first + static_cast<uint64_t>(chunk->second.bytes);
      }
      if (next < end) blocks.push_back(block(next, end - next, nullptr));
      Dict one = make_dict();
      one.insert("device", int64_t{0});
      one.insert("address", static_cast<int64_t>(address));
      one.insert("total_size", segment.bytes);
      for (const char* size : {"allocated_size", "active_size", "requested_size"}) one.insert(size, used);
      one.insert("stream", int64_t{0});
      one.insert("segment_type", "large");
      one.insert("segment_pool_id", c10::ivalue::Tuple::create({int64_t{0}, int64_t{0}}));
      one.insert("is_expandable", false);
      one.insert("frames", make_list());
      one.insert("blocks", blocks);
      list.push_back(one);
    }
    return list;
  }

  static IValue block(uint64_t address, uint64_t bytes, const Entry* made) {
    Dict one = make_dict();
    one.insert("address", static_cast<int64_t>(address));
    one.insert("size", static_cast<int64_t>(bytes));
    one.insert("requested_size", static_cast<int64_t>(made == nullptr ? 0 : bytes));
    one.insert("state", made == nullptr ? "inactive" : "active_allocated");
    one.insert("frames", made == nullptr ? IValue(make_list()) : frames_of(*made));
    return one;
  }

  const Plan& plan_;
  const Graph& graph_;
  ScopeBegan scope_;
  Chunks live_, segments_;
  std::vector<Entry> entries_;
};

}  // namespace

void write_memory_snapshot(const std::filesystem::path& file, const DeviceRecording& recording,
                           const Plan& plan, const Graph& graph) {
  const IValue value = Snapshot(recording, plan, graph).value();
  write_file_whole(file, [&](std::ostream& out) {
    torch::jit::Pickler pickler(
        [&](const char* bytes, size_t count) { out.write(bytes, static_cast<std::streamsize>(count)); });
    pickler.protocol();
    pickler.pushIValue(value);
    pickler.stop();
  });
}

}  // namespace headroom::profiler
