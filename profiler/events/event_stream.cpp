#include "profiler/events/event_stream.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>

#include "decoder/graph/errors.h"
#include "decoder/graph/json_fields.h"
#include "decoder/outputs/whole_file.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;

constexpr int64_t kMostFileBytes = int64_t{512} << 20;
constexpr size_t kMostLineBytes = size_t{1} << 16;
constexpr size_t kMostEvents = 5'000'000;
constexpr size_t kMostNameBytes = 4096;
constexpr size_t kMostSources = 90;  // a trace has some more
constexpr int64_t kMostItems = 1'000'000;
constexpr size_t kMostColumns = 16;
constexpr int64_t kMostTime_ns = int64_t{1} << 62;
constexpr int64_t kMostAddress = int64_t{1} << 62;
constexpr int64_t kMostBytes = int64_t{1} << 44;
constexpr int64_t kMostNumber = int64_t{1} << 40;

// Written.

json row_of(const ScopeBegan& e) {
  return {"scope", e.at_ns, static_cast<uint64_t>(e.scope), e.item, e.pass, e.tile, e.step};
}
json row_of(const Allocated& e) {
  return {"allocated", e.at_ns, e.address, e.bytes, key_of(e.kind), static_cast<int64_t>(e.layer)};
}
json row_of(const Freed& e) {
  return {"freed", e.at_ns, e.address};
}
json row_of(const SegmentChanged& e) {
  return {"segment", e.at_ns, e.address, e.bytes};
}
json row_of(const MemoryRefused& e) {
  return {"refused", e.at_ns, e.asked_bytes, e.free_bytes};
}
json row_of(const DriverMemoryChanged& e) {
  return {"driver", e.at_ns, e.address, e.bytes, e.correlation, name_of(e.place), e.pool, e.pool_size_bytes};
}
json row_of(const DriverPoolChanged& e) {
  return {"pool", e.at_ns, e.pool, e.size_bytes};
}
json row_of(const DeviceActivity& e) {
  return {"activity", e.begin_ns, e.end_ns, e.correlation, e.stream, e.bytes, name_of(e.kind), e.name};
}
json row_of(const ScopeOfCall& e) {
  return {"scope_of_call", e.correlation, static_cast<uint64_t>(e.scope)};
}
json row_of(const DriverCall& e) {
  return {"driver_call", e.begin_ns, e.end_ns, e.correlation, e.name};
}
json row_of(const RecordsLost& e) {
  return {"lost", e.count};
}
json row_of(const DriverCounted& e) {
  return {"counted", e.at_ns, e.bytes};
}

// Read.

std::string name_of_field(const JsonFields& field) {
  std::string text = field.text();
  if (text.size() > kMostNameBytes) field.fail("expected a name of at most 4096 bytes");
  return text;
}

/// The columns of one line, from left to right.
class Columns {
 public:
  explicit Columns(const JsonFields& row) : row_(row), count_(row.size(kMostColumns)) {}
  int64_t integer(int64_t least, int64_t most) { return next().integer(least, most); }
  int64_t time_ns() { return integer(0, kMostTime_ns); }
  uint64_t address() { return static_cast<uint64_t>(integer(0, kMostAddress)); }
  uint32_t correlation() { return static_cast<uint32_t>(integer(0, UINT32_MAX)); }
  ScopeId scope() { return ScopeId{static_cast<uint64_t>(integer(0, kMostNumber))}; }
  int32_t small(int64_t least) { return static_cast<int32_t>(integer(least, INT32_MAX)); }
  std::string name() { return name_of_field(next()); }
  /// One of the first `count` of an enumeration, by its name in files.
  template <typename Kind>
  Kind one_of(size_t count, const char* (*key)(Kind)) {
    const JsonFields field = next();
    const std::string text = field.text();
    for (size_t i = 0; i < count; ++i) {
      if (text == key(static_cast<Kind>(i))) return static_cast<Kind>(i);
    }
    field.fail("found " + field.value().dump().substr(0, 40) + ", which is none of its kinds");
  }
  void end() const {
    if (count_ != next_)
      row_.fail("expected " + std::to_string(next_) + " columns, found " + std::to_string(count_));
  }

 private:
  JsonFields next() { return row_[next_++]; }

  const JsonFields& row_;
  const size_t count_;
  size_t next_ = 1;  ///< after the kind of event
};

/// Reads the columns of one kind of event. Members are read in the order of the columns.
struct EventReader {
  std::string_view kind;
  DeviceEvent (*read)(Columns& row);
};
constexpr EventReader kReaders[]{
    {"scope",
     [](Columns& row) -> DeviceEvent {
       return ScopeBegan{.at_ns = row.time_ns(),
                         .scope = row.scope(),
                         .item = row.integer(0, kMostItems),
                         .pass = row.small(-1),
                         .tile = row.integer(-1, kMostNumber),
                         .step = row.small(-1)};
     }},
    {"allocated",
     [](Columns& row) -> DeviceEvent {
       return Allocated{.at_ns = row.time_ns(),
                        .address = row.address(),
                        .bytes = row.integer(0, kMostBytes),
                        .kind = row.one_of(kDecodeKinds, key_of),
                        .layer = TensorId{row.small(-1)}};
     }},
    {"freed",
     [](Columns& row) -> DeviceEvent { return Freed{.at_ns = row.time_ns(), .address = row.address()}; }},
    {"segment",
     [](Columns& row) -> DeviceEvent {
       return SegmentChanged{
           .at_ns = row.time_ns(), .address = row.address(), .bytes = row.integer(-kMostBytes, kMostBytes)};
     }},
    {"refused",
     [](Columns& row) -> DeviceEvent {
       return MemoryRefused{.at_ns = row.time_ns(),
                            .asked_bytes = row.integer(0, kMostBytes),
                            .free_bytes = row.integer(0, kMostBytes)};
     }},
    {"driver",
     [](Columns& row) -> DeviceEvent {
       return DriverMemoryChanged{.at_ns = row.time_ns(),
                                  .address = row.address(),
                                  .bytes = row.integer(-kMostBytes, kMostBytes),
                                  .correlation = row.correlation(),
                                  .place = row.one_of<MemoryPlace>(5, name_of),
                                  .pool = row.address(),
                                  .pool_size_bytes = row.integer(0, kMostBytes)};
     }},
    {"pool",
     [](Columns& row) -> DeviceEvent {
       return DriverPoolChanged{
           .at_ns = row.time_ns(), .pool = row.address(), .size_bytes = row.integer(0, kMostBytes)};
     }},
    {"activity",
     [](Columns& row) -> DeviceEvent {
       return DeviceActivity{.begin_ns = row.time_ns(),
                             .end_ns = row.time_ns(),
                             .correlation = row.correlation(),
                             .stream = row.small(0),
                             .bytes = row.integer(0, kMostBytes),
                             .kind = row.one_of<ActivityKind>(kActivityKinds, headroom::name_of),
                             .name = row.name()};
     }},
    {"scope_of_call",
     [](Columns& row) -> DeviceEvent {
       return ScopeOfCall{.correlation = row.correlation(), .scope = row.scope()};
     }},
    {"driver_call",
     [](Columns& row) -> DeviceEvent {
       return DriverCall{.begin_ns = row.time_ns(),
                         .end_ns = row.time_ns(),
                         .correlation = row.correlation(),
                         .name = row.name()};
     }},
    {"lost", [](Columns& row) -> DeviceEvent { return RecordsLost{.count = row.integer(0, kMostNumber)}; }},
    {"counted",
     [](Columns& row) -> DeviceEvent {
       return DriverCounted{.at_ns = row.time_ns(), .bytes = row.integer(-kMostBytes, kMostBytes)};
     }},
};

DeviceEvent event_of(const JsonFields& line) {
  const std::string kind = line[0].text();
  const auto* const reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                          [&](const EventReader& one) { return one.kind == kind; });
  if (reader == std::end(kReaders))
    line[0].fail("expected a kind of event, found " + line[0].value().dump().substr(0, 40));
  Columns row(line);
  DeviceEvent event = reader->read(row);
  row.end();
  return event;
}

std::vector<TraceSource> sources_of(const JsonFields& list) {
  std::vector<TraceSource> sources;
  const size_t count = list.size(kMostSources);
  for (size_t i = 0; i < count; ++i)
    sources.push_back(
        {name_of_field(list[i]["name"]), list[i]["captured"].boolean(), name_of_field(list[i]["detail"])});
  return sources;
}

}  // namespace

void write_events(const std::filesystem::path& file, const DeviceRecording& recording) {
  write_file_whole(file, [&](std::ostream& out) {
    json head{{"schema", "headroom.events"}, {"version", kEventsVersion},        {"plan", recording.plan},
              {"device", recording.device},  {"libraries", recording.libraries}, {"sources", json::array()}};
    for (const TraceSource& source : recording.sources)
      head["sources"].push_back(
          {{"name", source.name}, {"captured", source.captured}, {"detail", source.detail}});
    out << head.dump() << "\n";
    for (const DeviceEvent& event : recording.events)
      out << std::visit([](const auto& one) { return row_of(one); }, event).dump() << "\n";
  });
}

DeviceRecording read_events(const std::filesystem::path& file) {
  return events_from_text(read_text_file(file, kMostFileBytes), file.string());
}

DeviceRecording events_from_text(const std::string& text, const std::string& origin) {
  DeviceRecording recording;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string place = origin + ": line " + std::to_string(++number);
    if (end - begin > kMostLineBytes) throw InputError(place + ": longer than 65536 bytes");
    const json value = parse_json(text.substr(begin, end - begin), place);
    begin = end + 1;
    const JsonFields line(value, place);
    if (number == 1) {
      check_schema(line, "headroom.events", kEventsVersion);
      recording.plan = name_of_field(line["plan"]);
      recording.device = name_of_field(line["device"]);
      recording.libraries = name_of_field(line["libraries"]);
      recording.sources = sources_of(line["sources"]);
      continue;
    }
    if (recording.events.size() == kMostEvents)
      throw InputError(place + ": expected at most " + std::to_string(kMostEvents) + " events");
    if (line.size(kMostColumns) == 0) line.fail("expected an event, found []");
    recording.events.push_back(event_of(line));
  }
  if (number == 0) throw InputError(origin + ": expected \"headroom.events\", found an empty file");
  return recording;
}

}  // namespace headroom::profiler
