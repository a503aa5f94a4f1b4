#include <algorithm>
#include <unordered_map>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/files/pickle.h"
#include "profiler/history/history_replay.h"
#include "profiler/history/memory_history.h"

namespace headroom::profiler {
namespace {

using Action = MemoryRecord::Action;

constexpr size_t kMostKeys = 64;        ///< upper bound for one record, segment, block or frame
constexpr size_t kMostFrames = 10'000;  ///< upper bound for one stack

/// Strips the type tag that torch's pickler adds to a container: restore_type_tag(container, type).
PickleValue untagged(PickleValue value) {
  constexpr int kMostTags = 4;  // real files use one; a malicious value may contain itself
  for (int i = 0; i < kMostTags && value.kind() == PickleKind::call; ++i) {
    if (value.name() != "torch.jit._pickle.restore_type_tag" || value.arguments().size() == 0) break;
    value = value.arguments()[0];
  }
  return value;
}

/// A dict of the snapshot, with its name for messages.
class SnapshotFields {
 public:
  SnapshotFields(PickleValue value, std::string where) : value_(untagged(value)), where_(std::move(where)) {
    if (value_.kind() != PickleKind::dict) fail("a dict", value_);
    if (value_.pairs() > kMostKeys)
      throw InputError(where_ + ": expected at most " + std::to_string(kMostKeys) + " keys, found " +
                       std::to_string(value_.pairs()));
  }

  std::optional<PickleValue> find(const char* key) const {
    const std::optional<PickleValue> found = value_.find(key);
    return found && !found->is_none() ? std::optional(untagged(*found)) : std::nullopt;
  }

  int64_t integer(const char* key, int64_t most) const {
    const std::optional<PickleValue> found = find(key);
    if (!found) throw InputError(where_ + "." + key + ": missing");
    const std::optional<int64_t> number = found->integer();
    if (!number || *number < 0 || *number > most)
      throw InputError(where_ + "." + key + ": expected an integer from 0 to " + std::to_string(most) +
                       ", found " + (number ? std::to_string(*number) : text_of(found->kind())));
    return *number;
  }

  /// Reads an address. If its highest bit is set, it may be written as a negative number.
  uint64_t address(const char* key) const {
    const std::optional<PickleValue> found = find(key);
    if (!found) throw InputError(where_ + "." + key + ": missing");
    if (const std::optional<int64_t> number = found->integer()) return static_cast<uint64_t>(*number);
    fail_at(key, "an address of 64 bits", *found);
  }

  std::string_view text(const char* key) const {
    const std::optional<PickleValue> found = find(key);
    if (!found) throw InputError(where_ + "." + key + ": missing");
    if (const std::optional<std::string_view> text = found->text()) return *text;
    fail_at(key, "a string", *found);
  }

  /// False if the key is missing, as in older snapshots.
  bool flag(const char* key) const {
    const std::optional<PickleValue> found = find(key);
    return found && found->boolean().value_or(false);
  }

  std::optional<PickleValue> list(const char* key) const {
    const std::optional<PickleValue> found = find(key);
    if (found && found->kind() != PickleKind::list && found->kind() != PickleKind::tuple)
      fail_at(key, "a list", *found);
    return found;
  }

  [[noreturn]] void fail_at(const char* key, const char* expected, PickleValue found) const {
    SnapshotFields(*this, key).fail(expected, found);
  }

 private:
  SnapshotFields(const SnapshotFields& other, const char* key)
      : value_(other.value_), where_(other.where_ + "." + key) {}
  [[noreturn]] void fail(const char* expected, PickleValue found) const {
    const std::string name = found.name();
    throw InputError(where_ + ": expected " + expected + ", found " + text_of(found.kind()) +
                     (name.empty() ? "" : " of " + printable(name) + ", which is not made"));
  }

  PickleValue value_;
  std::string where_;
};

/// Reads one snapshot. Shared values are read once. The number of visits is bounded by the pickle's size, so
/// that a file cannot expand by sharing.
class SnapshotReader {
 public:
  explicit SnapshotReader(std::string origin) : origin_(std::move(origin)) {}

  /// Collects all records. The pickle may be destroyed afterwards.
  void gather(const Pickle& pickle) {
    visits_left_ = 2 * pickle.values();
    // Total memory is at most 5 times the file plus 48 MiB. A PyTorch record has 55 bytes and takes 184.
    const uint64_t most_memory = 4 * pickle.end() + kAlwaysMemory;
    memory_left_ = most_memory - pickle.held_bytes();
    const SnapshotFields root(pickle.root(), origin_ + ": the snapshot");
    const std::optional<PickleValue> traces = root.list("device_traces"), segments = root.list("segments");
    if (!traces && !segments) {
      throw InputError(origin_ +
                       ": expected a memory snapshot of PyTorch, a dict with device_traces and segments; "
                       "torch.cuda.memory._dump_snapshot() writes one");
    }
    if (traces) read_traces(*traces);
    if (segments) read_segments(*segments);
    read_settings(root);
    // The histories are built after the pickle is gone.
    size_t records = 0;
    for (size_t i = 0; i < records_.size(); ++i)
      records += records_[i].size() + states_[i].segments.size() + states_[i].blocks.size();
    memory_left_ = most_memory;
    take_memory(records * kReplayBytes + history_.stacks.size() * kStackBytes);
  }

  MemoryHistory history() {
    history_.source = "memory snapshot of PyTorch";
    for (size_t i = 0; i < records_.size(); ++i) {
      if (records_[i].empty() && states_[i].segments.empty()) continue;
      history_.devices.push_back(replay("cuda:" + std::to_string(i), records_[i], states_[i], origin_));
      records_[i] = {};
    }
    if (history_.devices.empty()) {
      throw InputError(origin_ + ": expected a snapshot of a device with memory, found one without");
    }
    return std::move(history_);
  }

 private:
  void visit() {
    if (visits_left_-- == 0) throw InputError(origin_ + ": expected each record once, found them repeated");
  }

  void take_memory(uint64_t bytes) {
    if (bytes > memory_left_)
      throw InputError(origin_ +
                       ": expected records that take at most 4 times the file in memory, found more");
    memory_left_ -= bytes;
  }

  std::string at(const char* what, size_t i, const char* inner = nullptr, size_t j = 0) const {
    std::string where = origin_ + ": " + what + "[" + std::to_string(i) + "]";
    return inner == nullptr ? where : where + inner + "[" + std::to_string(j) + "]";
  }

  void make_device(size_t device) {
    if (device >= records_.size()) {
      records_.resize(device + 1);
      states_.resize(device + 1);
    }
  }

  void read_traces(const PickleValue& traces) {
    if (traces.size() > kMostDevices)
      throw InputError(origin_ + ": device_traces: expected at most 1024 devices, found " +
                       std::to_string(traces.size()));
    for (size_t device = 0; device < traces.size(); ++device) {
      make_device(device);
      const PickleValue trace = untagged(traces[device]);
      if (trace.kind() != PickleKind::list)
        throw InputError(at("device_traces", device) + ": expected a list, found " + text_of(trace.kind()));
      const bool completed = gives_back_completely(trace, device);
      take_memory(trace.size() * sizeof(MemoryRecord));
      records_[device].reserve(trace.size());
      for (size_t i = 0; i < trace.size(); ++i)
        read_record(trace[i], at("device_traces", device, "", i), completed, records_[device]);
    }
  }

  /// True if the trace has `free_completed` records, which mark when memory could be used again. In a trace
  /// without them, `free_requested` records count instead.
  bool gives_back_completely(const PickleValue& trace, size_t device) {
    for (size_t i = 0; i < trace.size(); ++i) {
      visit();
      const SnapshotFields fields(trace[i], at("device_traces", device, "", i));
      if (fields.text("action") == "free_completed") return true;
    }
    return false;
  }

  void read_record(const PickleValue& value, const std::string& where, bool completed,
                   std::vector<MemoryRecord>& records) {
    visit();
    const SnapshotFields fields(value, where);
    const std::string_view action = fields.text("action");
    MemoryRecord record;
    if (action == "alloc") {
      record.action = Action::alloc;
    } else if (action == (completed ? "free_completed" : "free_requested") || action == "free") {
      record.action = Action::free;
    } else if (action == "segment_alloc" || action == "segment_map") {
      record.action = Action::segment_taken;
      record.expandable = action == "segment_map";
    } else if (action == "segment_free" || action == "segment_unmap") {
      record.action = Action::segment_returned;
      record.expandable = action == "segment_unmap";
    } else if (action == "oom") {
      record.action = Action::refused;
      if (fields.find("device_free")) record.free_bytes = fields.integer("device_free", kMostRecordedBytes);
    } else {
      return;  // ignores "free_requested" beside "free_completed", "snapshot" and unknown actions
    }
    if (record.action != Action::refused) record.address = fields.address("addr");
    record.bytes = fields.integer("size", kMostRecordedBytes);
    if (fields.find("time_us")) record.seconds = double(fields.integer("time_us", INT64_MAX)) * 1e-6;
    if (record.action == Action::alloc || record.action == Action::refused) record.stack = stack_of(fields);
    records.push_back(record);
  }

  void read_segments(const PickleValue& segments) {
    for (size_t i = 0; i < segments.size(); ++i) {
      visit();
      const SnapshotFields fields(segments[i], at("segments", i));
      take_memory(kFinalBytes);
      const auto device = static_cast<size_t>(
          fields.find("device") ? fields.integer("device", static_cast<int64_t>(kMostDevices) - 1) : 0);
      make_device(device);
      FinalState& state = states_[device];
      uint64_t address = fields.address("address");
      state.segments.push_back(
          {address, fields.integer("total_size", kMostRecordedBytes), 0, 0, fields.flag("is_expandable")});
      const std::optional<PickleValue> blocks = fields.list("blocks");
      for (size_t j = 0; blocks && j < blocks->size(); ++j)
        address = read_block((*blocks)[j], at("segments", i, ".blocks", j), address, state);
    }
  }

  /// Reads a block and returns its end address. Older snapshots have no block addresses: each block follows
  /// the one before.
  uint64_t read_block(const PickleValue& value, const std::string& where, uint64_t address,
                      FinalState& state) {
    visit();
    const SnapshotFields fields(value, where);
    FinalBlock block;
    block.address = fields.find("address") ? fields.address("address") : address;
    block.bytes = fields.integer("size", kMostRecordedBytes);
    block.asked_bytes =
        fields.find("requested_size") ? fields.integer("requested_size", kMostRecordedBytes) : block.bytes;
    const uint64_t end = block.address + static_cast<uint64_t>(block.bytes);
    if (fields.text("state").starts_with("active")) {
      take_memory(kFinalBytes);
      block.stack = stack_of(fields);
      state.blocks.push_back(block);
    }
    return end;
  }

  StackId stack_of(const SnapshotFields& fields) {
    const std::optional<PickleValue> frames = fields.list("frames");
    if (!frames || frames->size() == 0) return 0;
    const auto [known, is_new] = stacks_.try_emplace(frames->index(), 0);
    if (!is_new) return known->second;
    take_memory(kStackBytes);
    if (frames->size() > kMostFrames) fields.fail_at("frames", "at most 10000 frames", *frames);
    StackId stack = 0;
    for (size_t i = frames->size(); i > 0; --i) {
      const PickleValue value = (*frames)[i - 1];
      const auto [number, is_new_frame] = frames_.try_emplace(value.index());
      if (is_new_frame) {
        take_memory(kFrameBytes);
        if (const std::optional<CodeFrame> frame = frame_of(value)) {
          take_memory(2 * (frame->file.size() + frame->function.size()));
          number->second = history_.stacks.add(*frame);
        }
      }
      if (!number->second) continue;
      const size_t stacks = history_.stacks.size();
      stack = history_.stacks.push(stack, *number->second);
      if (history_.stacks.size() > stacks) take_memory(kStackBytes);
    }
    return known->second = stack;
  }

  /// Returns nothing if the frame has no name, because memory figures do not depend on it.
  static std::optional<CodeFrame> frame_of(const PickleValue& tagged) {
    const PickleValue value = untagged(tagged);
    if (value.kind() != PickleKind::dict || value.pairs() > kMostKeys) return std::nullopt;
    CodeFrame frame;
    const std::optional<PickleValue> name = value.find("name"), file = value.find("filename"),
                                     line = value.find("line");
    if (!name || !name->text()) return std::nullopt;
    frame.function = std::string(name->text()->substr(0, kLongestText));
    if (file && file->text()) frame.file = std::string(file->text()->substr(0, kLongestText));
    if (line && line->integer()) frame.line = *line->integer();
    const bool native = frame.file == "??" || frame.file.ends_with(".cpp") || frame.file.ends_with(".h") ||
                        frame.file.ends_with(".cc") || frame.file.ends_with(".c") ||
                        frame.file.ends_with(".cu") || frame.function.starts_with("torch::unwind::");
    frame.kind = native ? CodeFrame::Kind::native : CodeFrame::Kind::code;
    return frame;
  }

  void read_settings(const SnapshotFields& root) {
    const std::optional<PickleValue> settings = root.find("allocator_settings");
    if (!settings || settings->kind() != PickleKind::dict || settings->pairs() > kMostKeys) return;
    for (const char* key : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
      const std::optional<PickleValue> text = settings->find(key);
      if (text && text->text()) history_.allocator_settings = printable(*text->text());
    }
  }

  static constexpr size_t kLongestText = 1000;
  static constexpr uint64_t kAlwaysMemory = 48 << 20;
  static constexpr uint64_t kFinalBytes = 3 * sizeof(FinalBlock);  ///< bytes per block, in a growing vector
  static constexpr uint64_t kStackBytes = 56;   ///< bytes per stack or list of frames, in tables
  static constexpr uint64_t kFrameBytes = 320;  ///< bytes per frame without its texts, in tables

  const std::string origin_;
  size_t visits_left_ = 0;
  uint64_t memory_left_ = 0;  ///< bytes left for data built from the pickle
  MemoryHistory history_;
  std::vector<std::vector<MemoryRecord>> records_;  ///< by device
  std::vector<FinalState> states_;
  std::unordered_map<uint32_t, StackId> stacks_;                 ///< by pickled list of frames
  std::unordered_map<uint32_t, std::optional<FrameId>> frames_;  ///< by pickled dict of the frame
};

}  // namespace

MemoryHistory read_memory_snapshot(const std::filesystem::path& file) {
  SnapshotReader reader(file.string());
  reader.gather(Pickle::read(file));
  return reader.history();
}

}  // namespace headroom::profiler
