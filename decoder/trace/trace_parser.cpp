#include "decoder/trace/trace_parser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "decoder/base/json_fields.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kMostRows = 5'000'000;  ///< rows per long list
constexpr int64_t kMostItems = 1'000'000;
constexpr int64_t kMostTiles = int64_t{1} << 40;

/// One column of a long list: a time, or an integer in a range.
struct Field {
  const char* name;
  bool is_time = false;
  int64_t least = 0;
  int64_t most = 0;
};
constexpr Field time_field(const char* name) {
  return {name, true};
}
constexpr std::array kEventFields{time_field("seconds"),
                                  Field{"kind", false, 0, kEventKinds - 1},
                                  Field{"layer", false, -1, kMostTraceLayers - 1},
                                  Field{"pass", false, -1, kMostTracePasses - 1},
                                  Field{"tile", false, -1, kMostTiles},
                                  Field{"bytes", false, -kMostTraceBytes, kMostTraceBytes},
                                  Field{"slack_bytes", false, -kMostTraceBytes, kMostTraceBytes}};
constexpr std::array kTileFields{
    time_field("begin_seconds"), time_field("end_seconds"), Field{"item", false, 0, kMostItems},
    Field{"pass", false, 0, kMostTracePasses - 1}, Field{"tile", false, 0, kMostTiles}};
constexpr std::array kOutsideFields{time_field("seconds"), Field{"bytes", false, 0, kMostTraceBytes}};
constexpr std::array kPlaceFields{time_field("begin_seconds"),
                                  time_field("end_seconds"),
                                  Field{"kind", false, 0, kDecodeKinds - 1},
                                  Field{"layer", false, -1, kMostTraceLayers - 1},
                                  Field{"pass", false, -1, kMostTracePasses - 1},
                                  Field{"offset", false, 0, kMostTraceBytes},
                                  Field{"bytes", false, 0, kMostTraceBytes}};
constexpr std::array kActivityFields{time_field("begin_seconds"),
                                     time_field("end_seconds"),
                                     Field{"kind", false, 0, kActivityKinds - 1},
                                     Field{"stream", false, 0, INT32_MAX},
                                     Field{"name", false, 0, kMostTraceNames - 1},
                                     Field{"pass", false, -1, kMostTracePasses - 1},
                                     Field{"tile", false, -1, kMostTiles},
                                     Field{"step", false, -1, kMostTraceSteps - 1},
                                     Field{"bytes", false, 0, kMostTraceBytes}};
constexpr std::array kDriverFields{time_field("seconds"),
                                   Field{"bytes", false, -kMostTraceBytes, kMostTraceBytes}};

/// Values of one row, by column.
struct Row {
  std::array<double, 2> seconds{};
  std::array<int64_t, std::max(kEventFields.size(), kActivityFields.size())> numbers{};

  int32_t small(size_t column) const { return static_cast<int32_t>(numbers[column]); }
  TensorId tensor(size_t column) const { return TensorId{small(column)}; }
};

/// Describes a long list of a trace file.
struct RowList {
  const char* key;
  const char* fields_key;
  std::span<const Field> fields;
  void (*clear)(Trace& trace);
  void (*add)(const Row& row, Trace& trace);
};
constexpr RowList kLists[]{
    {"events", "event_fields", kEventFields, [](Trace& trace) { trace.events.clear(); },
     [](const Row& row, Trace& trace) {
       trace.events.push_back({row.seconds[0], row.numbers[5], row.numbers[4], row.small(3), row.tensor(2),
                               static_cast<MemoryKind>(row.numbers[1]), row.numbers[6]});
     }},
    {"tiles", "tile_fields", kTileFields, [](Trace& trace) { trace.tiles.clear(); },
     [](const Row& row, Trace& trace) {
       trace.tiles.push_back(
           {row.seconds[0], row.seconds[1], row.numbers[2], row.small(3), row.numbers[4], -1});
     }},
    {"outside", "outside_fields", kOutsideFields, [](Trace& trace) { trace.outside.clear(); },
     [](const Row& row, Trace& trace) {
       trace.outside.push_back({row.seconds[0], row.numbers[1]});
     }},
    {"places", "place_fields", kPlaceFields, [](Trace& trace) { trace.places.clear(); },
     [](const Row& row, Trace& trace) {
       trace.places.push_back({row.seconds[0], row.seconds[1], row.numbers[5], row.numbers[6], row.tensor(3),
                               row.small(4), static_cast<MemoryKind>(row.numbers[2])});
     }},
    {"activities", "activity_fields", kActivityFields, [](Trace& trace) { trace.activities.clear(); },
     [](const Row& row, Trace& trace) {
       trace.activities.push_back({row.seconds[0], row.seconds[1], row.numbers[6], row.numbers[8],
                                   row.small(5), row.small(7), row.small(3), row.small(4),
                                   static_cast<ActivityKind>(row.numbers[2])});
     }},
    {"driver", "driver_fields", kDriverFields, [](Trace& trace) { trace.driver.clear(); },
     [](const Row& row, Trace& trace) {
       trace.driver.push_back({row.seconds[0], row.numbers[1]});
     }},
};

/// Parser callback that extracts the rows of the long lists. Rows lie at depth 2 of a single trace, and at
/// depth 4 inside "ranks".
class RowTaker {
 public:
  explicit RowTaker(const std::string& origin) : origin_(origin) {}

  /// Callback for the JSON library. Returns false to discard the value.
  bool follow(int depth, json::parse_event_t event, json& value) {
    using Event = json::parse_event_t;
    const bool inside_row = list_ != nullptr && depth > list_depth_;
    if (!inside_row) count(event, value);
    switch (event) {
      case Event::key:
        if (depth == 1) in_ranks_ = value == "ranks";
        if (depth == (in_ranks_ ? 3 : 1)) next_ = list_of(value);
        break;
      case Event::object_start:
        if (depth == 2 && in_ranks_) traces_.emplace_back();
        break;
      case Event::array_start:
        if (list_ == nullptr && next_ != nullptr && depth == (in_ranks_ ? 3 : 1)) begin_list(depth);
        if (inside_row && depth == list_depth_ + 1) values_of_row_ = 0;
        break;
      case Event::value:
        if (inside_row && depth > list_depth_ + 1 && ++values_of_row_ > list_->fields.size())
          refuse_count("more");
        break;
      case Event::array_end:
        if (inside_row && depth == list_depth_ + 1) return take_row(value);
        if (list_ != nullptr && depth == list_depth_) list_ = next_ = nullptr;
        break;
      case Event::object_end:
        break;
    }
    return true;
  }

  std::vector<Trace> traces() {
    if (traces_.empty()) traces_.emplace_back();
    return std::move(traces_);
  }

 private:
  static const RowList* list_of(const json& key) {
    const auto* const found = std::find_if(std::begin(kLists), std::end(kLists),
                                           [&](const RowList& list) { return key == list.key; });
    return found == std::end(kLists) ? nullptr : found;
  }

  /// Counts the memory of all values except rows.
  void count(json::parse_event_t event, const json& value) {
    constexpr size_t kEntry = 96, kValue = 48;
    kept_bytes_ += event == json::parse_event_t::key ? kEntry : kValue;
    if (value.is_string()) kept_bytes_ += value.get_ref<const std::string&>().size();
    if (kept_bytes_ > size_t{kMostJsonBytes})
      throw InputError(origin_ + ": expected a trace that takes at most " +
                       std::to_string(kMostJsonBytes >> 20) + " MiB beside its events, found more");
  }

  void begin_list(int depth) {
    list_ = next_;
    list_depth_ = depth;
    row_ = 0;
    earliest_ = 0;
    if (traces_.empty()) traces_.emplace_back();
    list_->clear(traces_.back());  // for a duplicate key, the last one counts
  }

  bool take_row(const json& value) {
    if (row_ == kMostRows)
      throw InputError(origin_ + ": " + place() + list_->key + ": expected at most " +
                       std::to_string(kMostRows) + " elements");
    if (value.size() < list_->fields.size()) refuse_count(std::to_string(value.size()));
    Row row;
    for (size_t column = 0; column < list_->fields.size(); ++column) {
      const Field& field = list_->fields[column];
      if (field.is_time) {
        row.seconds[column] = earliest_ = time_in(value[column], column);
      } else {
        row.numbers[column] = integer_in(value[column], column);
      }
    }
    earliest_ = row.seconds[0];
    list_->add(row, traces_.back());
    ++row_;
    return false;
  }

  double time_in(const json& value, size_t column) const {
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < earliest_)
      JsonFields(value, origin_, cell(column))
          .fail("expected a number of at least " + json(earliest_).dump() + ", found " +
                value.dump().substr(0, 40));
    return value.get<double>();
  }
  /// The fast path comes first. JsonFields is slow, but reports errors precisely.
  int64_t integer_in(const json& value, size_t column) const {
    const Field& field = list_->fields[column];
    if (value.is_number_integer()) {
      const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX};
      const auto number = value.get<int64_t>();
      if (!too_large && number >= field.least && number <= field.most) return number;
    }
    return JsonFields(value, origin_, cell(column)).integer(field.least, field.most);
  }

  std::string place() const {
    return in_ranks_ ? "ranks[" + std::to_string(traces_.size() - 1) + "]: " : std::string();
  }
  std::string row_path() const { return place() + list_->key + "[" + std::to_string(row_) + "]"; }
  std::string cell(size_t column) const { return row_path() + "[" + std::to_string(column) + "]"; }
  [[noreturn]] void refuse_count(const std::string& count) const {
    throw InputError(origin_ + ": " + row_path() + ": expected " + std::to_string(list_->fields.size()) +
                     " numbers, found " + count);
  }

  const std::string& origin_;
  std::vector<Trace> traces_;
  const RowList* next_ = nullptr;  ///< list named by the last key
  const RowList* list_ = nullptr;  ///< list being read
  int list_depth_ = 0;
  bool in_ranks_ = false;  ///< inside "ranks"
  size_t row_ = 0, values_of_row_ = 0;
  size_t kept_bytes_ = 0;
  double earliest_ = 0;  ///< lower bound of the next time
};

}  // namespace

ParsedTraces parse_traces(const std::string& text, const std::string& origin) {
  RowTaker taker(origin);
  ParsedTraces parsed;
  parsed.document = parse_json(text, origin, INT64_MAX, [&] {
    return json::parse(text, [&](int depth, json::parse_event_t event, json& value) {
      return taker.follow(depth, event, value);
    });
  });
  parsed.traces = taker.traces();
  return parsed;
}

namespace {

template <typename Kind, typename Name>
json names_of_all(size_t count, const Name& name) {
  json names = json::array();
  for (size_t kind = 0; kind < count; ++kind) names.push_back(name(static_cast<Kind>(kind)));
  return names;
}

}  // namespace

json trace_names() {
  json names{{"kinds", names_of_all<MemoryKind>(kEventKinds, [](MemoryKind kind) { return key_of(kind); })},
             {"activity_kinds",
              names_of_all<ActivityKind>(kActivityKinds, [](ActivityKind kind) { return name_of(kind); })}};
  for (const RowList& list : kLists) {
    for (const Field& field : list.fields) names[list.fields_key].push_back(field.name);
  }
  return names;
}

json rank_call_names() {
  return {{"call_fields", {"begin_seconds", "end_seconds", "call", "pass", "sent_bytes"}},
          {"call_names",
           names_of_all<ExchangeCall>(kExchangeCalls, [](ExchangeCall call) { return name_of(call); })}};
}

}  // namespace headroom
