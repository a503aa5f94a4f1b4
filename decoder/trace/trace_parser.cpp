#include "decoder/trace/trace_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "decoder/graph/json_fields.h"

namespace headroom {
namespace {

constexpr size_t kMostRows = 5'000'000;  ///< of each long list
constexpr size_t kMostCutPointBytes = size_t{64} << 20;
constexpr size_t kLongestFound = 40;  ///< of a number in a message
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

/// The end of the JSON number that begins at `at`; null where none does.
const char* number_end(const char* at) {
  const auto digits = [&at] {
    const char* const begin = at;
    while (*at >= '0' && *at <= '9') ++at;
    return at > begin;
  };
  if (*at == '-') ++at;
  const bool leads_with_zero = *at == '0';
  const char* const whole = at;
  if (!digits() || (leads_with_zero && at > whole + 1)) return nullptr;
  if (*at == '.' && (++at, !digits())) return nullptr;
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!digits()) return nullptr;
  }
  return at;
}

/// Goes through the text of a trace, reads the rows of its long lists and leaves all else to the JSON
/// library. The text ends in a zero, which is no part of any value, so that looking at the next character
/// needs no bound.
class TraceScanner {
 public:
  TraceScanner(const std::string& text, std::string origin)
      : origin_(std::move(origin)), at_(text.c_str()), end_(at_ + text.size()), copied_(at_) {}

  ParsedTrace run() {
    int64_t depth = 0;
    std::string_view word;
    while (at_ < end_) {
      const char c = *at_++;
      if (c == '"') {
        const char* const begin = at_;
        skip_string();
        if (depth == 1) word = {begin, static_cast<size_t>(at_ - begin)};
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        --depth;
      } else if (c == ':' && depth == 1) {
        skip_space();
        if (*at_ == '[') read_list(word);
      }
    }
    copy_rest();
    return {parse_json(rest_, origin_), std::move(trace_)};
  }

 private:
  void skip_string() {
    while (at_ < end_ && *at_ != '"') at_ += *at_ == '\\' ? 2 : 1;
    at_ = at_ < end_ ? at_ + 1 : end_;  // beyond the quotation mark
  }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') lines_ += *at_++ == '\n' ? 1 : 0;
  }

  void copy_rest() {
    rest_.append(copied_, at_);
    copied_ = at_;
    if (rest_.size() > kMostCutPointBytes) {
      throw InputError(origin_ + ": larger than the " + std::to_string(kMostCutPointBytes) +
                       " bytes that it may have beside its events");
    }
  }

  /// `name` with the quotation mark that ends it.
  void read_list(std::string_view name) {
    if (name == "events\"") {
      trace_.events.clear();
      read_rows("events", kEventFields, [&](const Row& row) {
        trace_.events.push_back({row.seconds[0], row.numbers[5], row.numbers[4],
                                 static_cast<int32_t>(row.numbers[3]),
                                 TensorId{static_cast<int32_t>(row.numbers[2])},
                                 static_cast<MemoryKind>(row.numbers[1]), row.numbers[6]});
      });
    } else if (name == "tiles\"") {
      trace_.tiles.clear();
      read_rows("tiles", kTileFields, [&](const Row& row) {
        trace_.tiles.push_back({row.seconds[0], row.seconds[1], row.numbers[2],
                                static_cast<int32_t>(row.numbers[3]), row.numbers[4], -1});
      });
    } else if (name == "outside\"") {
      trace_.outside.clear();
      read_rows("outside", kOutsideFields, [&](const Row& row) {
        trace_.outside.push_back({row.seconds[0], row.numbers[1]});
      });
    } else if (name == "places\"") {
      trace_.places.clear();
      read_rows("places", kPlaceFields, [&](const Row& row) {
        trace_.places.push_back({row.seconds[0], row.seconds[1], row.numbers[5], row.numbers[6],
                                 TensorId{static_cast<int32_t>(row.numbers[3])},
                                 static_cast<int32_t>(row.numbers[4]),
                                 static_cast<MemoryKind>(row.numbers[2])});
      });
    } else if (name == "driver\"") {
      trace_.driver.clear();
      read_rows("driver", kDriverFields, [&](const Row& row) {
        trace_.driver.push_back({row.seconds[0], row.numbers[1]});
      });
    } else if (name == "activities\"") {
      trace_.activities.clear();
      read_rows("activities", kActivityFields, [&](const Row& row) {
        const auto small = [&](size_t column) { return static_cast<int32_t>(row.numbers[column]); };
        trace_.activities.push_back({row.seconds[0], row.seconds[1], row.numbers[6], row.numbers[8], small(5),
                                     small(7), small(3), small(4),
                                     static_cast<ActivityKind>(row.numbers[2])});
      });
    }
  }

  /// Values by column.
  struct Row {
    std::array<double, 2> seconds{};
    std::array<int64_t, std::max(kEventFields.size(), kActivityFields.size())> numbers{};
  };

  template <typename Add>
  void read_rows(const char* list, std::span<const Field> fields, Add add) {
    copy_rest();
    list_ = list;
    row_ = 0;
    lines_ = 0;
    earliest_ = 0;
    Row row;
    ++at_;
    skip_space();
    while (*at_ != ']') {
      if (row_ > 0) {
        expect(',');
        skip_space();
      }
      if (row_ == kMostRows) refuse(list_, "expected at most " + std::to_string(kMostRows) + " elements");
      read_row(fields, row);
      add(row);
      earliest_ = row.seconds[0];
      ++row_;
      skip_space();
    }
    copied_ = ++at_;
    // What comes after is still on its line, should there be something wrong with it.
    rest_ += '[' + std::string(lines_, '\n') + ']';
  }

  void read_row(std::span<const Field> fields, Row& row) {
    if (*at_ != '[') refuse(row_path(), "expected an array, found " + found());
    ++at_;
    skip_space();
    const auto refuse_count = [&](const std::string& count) {
      refuse(row_path(), "expected " + std::to_string(fields.size()) + " numbers, found " + count);
    };
    for (column_ = 0; column_ < fields.size(); ++column_) {
      const Field& field = fields[column_];
      if (*at_ == ']') refuse_count(std::to_string(column_));
      if (column_ > 0) {
        expect(',');
        skip_space();
      }
      if (field.is_time) {
        row.seconds[column_] = earliest_ = read_time();
      } else {
        row.numbers[column_] = read_integer(field);
      }
      skip_space();
    }
    if (*at_ == ',') refuse_count("more");
    expect(']');
  }

  /// The number that comes next, as text.
  std::string_view number() {
    const char* const end = number_end(at_);
    if (end == nullptr) refuse_cell("expected a number, found " + found());
    const std::string_view text(at_, static_cast<size_t>(end - at_));
    at_ = end;
    return text;
  }

  double read_time() {
    const std::string_view text = number();
    double seconds = 0;
    const std::errc error = std::from_chars(text.data(), text.data() + text.size(), seconds).ec;
    if (error != std::errc() || !(seconds >= earliest_)) {
      refuse_cell("expected at least " + nlohmann::json(earliest_).dump() + ", found " +
                  std::string(text.substr(0, kLongestFound)));
    }
    return seconds;
  }

  int64_t read_integer(const Field& field) {
    const std::string_view text = number();
    int64_t value = 0;
    const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || value < field.least ||
        value > field.most) {
      refuse_cell("expected an integer from " + std::to_string(field.least) + " to " +
                  std::to_string(field.most) + ", found " + std::string(text.substr(0, kLongestFound)));
    }
    return value;
  }

  void expect(char c) {
    if (*at_ != c) refuse(row_path(), std::string("expected '") + c + "', found " + found());
    ++at_;
  }

  /// What comes next, in words.
  std::string found() const {
    if (at_ == end_) return "the end of the file";
    if (const char* const end = number_end(at_); end != nullptr)
      return {at_, std::min(end, at_ + kLongestFound)};
    switch (*at_) {
      case '"':
        return "a string";
      case '[':
        return "an array";
      case '{':
        return "an object";
      case 't':
      case 'f':
        return "a boolean";
      case 'n':
        return "null";
    }
    return "something else";
  }

  [[noreturn]] void refuse(const std::string& path, const std::string& what) const {
    throw InputError(origin_ + ": " + path + ": " + what);
  }
  std::string row_path() const { return std::string(list_) + "[" + std::to_string(row_) + "]"; }
  [[noreturn]] void refuse_cell(const std::string& what) const {
    refuse(row_path() + "[" + std::to_string(column_) + "]", what);
  }

  const std::string origin_;
  const char* at_;
  const char* const end_;
  const char* copied_;  ///< up to here the text is in rest_, or was a list
  std::string rest_;
  Trace trace_;
  const char* list_ = "";
  size_t row_ = 0, column_ = 0;
  size_t lines_ = 0;     ///< ends of lines in the list
  double earliest_ = 0;  ///< that the next time may be
};

template <size_t count>
std::vector<std::string> names_of(const std::array<Field, count>& fields) {
  std::vector<std::string> names;
  names.reserve(count);
  for (const Field& field : fields) names.emplace_back(field.name);
  return names;
}

}  // namespace

ParsedTrace parse_trace(const std::string& text, const std::string& origin) {
  return TraceScanner(text, origin).run();
}

std::vector<std::string> event_field_names() {
  return names_of(kEventFields);
}
std::vector<std::string> activity_field_names() {
  return names_of(kActivityFields);
}
std::vector<std::string> driver_field_names() {
  return names_of(kDriverFields);
}
std::vector<std::string> tile_field_names() {
  return names_of(kTileFields);
}
std::vector<std::string> outside_field_names() {
  return names_of(kOutsideFields);
}
std::vector<std::string> place_field_names() {
  return names_of(kPlaceFields);
}

}  // namespace headroom
