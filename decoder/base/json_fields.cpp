#include "decoder/base/json_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr size_t kDeepestNesting = 64;
constexpr size_t kLongestToken = size_t{1} << 20;

/// Estimates an upper bound on the memory of a parsed JSON text, with nlohmann::json and glibc's malloc.
/// Rejects a text as soon as text and values exceed `most_bytes` together.
class JsonCost {
 public:
  JsonCost(const std::string& text, const std::string& origin, int64_t most_bytes)
      : origin_(origin), most_bytes_(static_cast<size_t>(most_bytes)), bytes_(text.size()) {}

  /// Strings beyond std::string's inline capacity use the heap.
  void string(size_t length) { add(kString + (length > kOwnRoom ? length + kOverhead : 0)); }
  void open(char bracket, size_t at) {
    token_ends(at);
    if (depth_ == kDeepestNesting) throw InputError(origin_ + ": nested deeper than 64 levels");
    elements_.at(depth_++) = bracket == '[' ? 1 : 0;
    add(bracket == '[' ? kArray + kElement : kObject);
  }
  void close(size_t at) {
    token_ends(at);
    if (depth_ > 0) --depth_;
  }
  void separator(char c, size_t at) {
    token_ends(at);
    if (c == ':') return add(kEntry - kString);  // the string before it was the key
    if (depth_ == 0 || elements_.at(depth_ - 1) == 0) return;
    add(kElement);
    const size_t elements = ++elements_.at(depth_ - 1);
    if (elements > most_elements_) {
      most_elements_ = elements;
      add(sizeof(nlohmann::json));  // while the largest array grows, its old and new buffers coexist
    }
  }
  /// The parser holds several copies of a token and of the whitespace before it.
  void token_ends(size_t at) {
    if (at - token_ > kLongestToken) {
      throw InputError(origin_ +
                       ": expected JSON with strings of at most 1 MiB, found a longer one at byte " +
                       std::to_string(token_));
    }
    token_ = at;
  }

 private:
  static constexpr size_t kObject = 64, kEntry = 96, kArray = 32, kElement = 32, kString = 48;
  static constexpr size_t kOwnRoom = 15, kOverhead = 24;

  void add(size_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= most_bytes_) return;
    throw InputError(origin_ + ": expected JSON that takes at most " + std::to_string(most_bytes_ >> 20) +
                     " MiB in memory, found more");
  }

  const std::string& origin_;
  const size_t most_bytes_;
  size_t bytes_;
  std::array<size_t, kDeepestNesting> elements_{};  ///< number of elements of each open array; 0 for an
                                                    ///< object
  size_t depth_ = 0, most_elements_ = 0, token_ = 0;
};

void append_text(const nlohmann::json& value, int depth, int deepest_expanded, std::string& out) {
  if (!value.is_structured() || value.empty() || depth > deepest_expanded) {
    out += value.dump();
    return;
  }
  const std::string indent(static_cast<size_t>(depth) + 1, ' ');
  out += value.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& item : value.items()) {
    out += separator + indent;
    if (value.is_object()) out += nlohmann::json(item.key()).dump() + ": ";
    append_text(item.value(), depth + 1, deepest_expanded, out);
    separator = ",\n";
  }
  out += '\n' + indent.substr(1) + (value.is_object() ? '}' : ']');
}

/// Describes a file with this schema. Empty for schemas that this project does not use.
std::string meaning_of(const std::string& schema) {
  constexpr std::pair<const char*, const char*> kMeanings[] = {
      {"headroom.plan", "a plan (headroom-plan -o)"},
      {"headroom.stats", "the statistics of a run (headroom-decode --stats)"},
      {"headroom.trace", "the trace of a run (headroom-decode --trace)"},
      {"headroom.profile", "a profile (headroom-profile -o)"},
      {"headroom.frontier", "a frontier (headroom-plan frontier -o)"},
      {"headroom.requests", "requests (a queue)"}};
  for (const auto& [known, meaning] : kMeanings) {
    if (schema == known) return meaning;
  }
  return "";
}

/// Guesses the format of a text that does not begin like JSON.
std::string instead_of_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "the file is empty";
  if (std::string_view("{[\"-0123456789tfn").find(text[first]) != std::string_view::npos) return "";
  if (text.starts_with("\x89PNG") || text.starts_with("\xff\xd8")) return "this seems to be a picture";
  if (text.find('\0') != std::string::npos) return "this seems to be no text";
  return "this seems to be text other than JSON";
}

}  // namespace

bool JsonFields::has(const std::string& key) const {
  return value_->is_object() && value_->contains(key);
}

JsonFields JsonFields::operator[](const std::string& key) const {
  if (!value_->is_object()) fail("expected an object, found " + std::string(value_->type_name()));
  const std::string path = path_.empty() ? key : path_ + "." + key;
  const auto found = value_->find(key);
  if (found == value_->end()) throw InputError(origin_ + ": " + path + ": missing");
  return {*found, origin_, path};
}

JsonFields JsonFields::operator[](size_t i) const {
  if (!value_->is_array()) fail("expected an array, found " + std::string(value_->type_name()));
  const std::string path = path_ + "[" + std::to_string(i) + "]";
  if (i >= value_->size()) throw InputError(origin_ + ": " + path + ": missing");
  return {(*value_)[i], origin_, path};
}

size_t JsonFields::size(size_t most) const {
  if (!value_->is_array()) fail("expected an array, found " + std::string(value_->type_name()));
  if (value_->size() > most) {
    fail("expected at most " + std::to_string(most) + " elements, found " + std::to_string(value_->size()));
  }
  return value_->size();
}

int64_t JsonFields::integer(int64_t least, int64_t most) const {
  const bool too_large = value_->is_number_unsigned() && value_->get<uint64_t>() > uint64_t{INT64_MAX};
  if (!value_->is_number_integer() || too_large || value_->get<int64_t>() < least ||
      value_->get<int64_t>() > most) {
    fail("expected an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", found " +
         value_->dump().substr(0, 40));
  }
  return value_->get<int64_t>();
}

int64_t JsonFields::integer_or(const std::string& key, int64_t least, int64_t most, int64_t otherwise) const {
  return has(key) ? (*this)[key].integer(least, most) : otherwise;
}

double JsonFields::number() const {
  if (!value_->is_number() || !std::isfinite(value_->get<double>())) {
    fail("expected a number, found " + value_->dump().substr(0, 40));
  }
  return value_->get<double>();
}

double JsonFields::amount() const {
  const double value = number();
  if (value < 0) fail("expected a number of at least 0, found " + value_->dump());
  return value;
}

double JsonFields::nonzero() const {
  const double value = number();
  if (value == 0) fail("expected a number other than 0");
  return value;
}

bool JsonFields::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false, found " + value_->dump().substr(0, 40));
  return value_->get<bool>();
}

std::string JsonFields::text() const {
  if (!value_->is_string()) fail("expected a string, found " + value_->dump().substr(0, 40));
  return value_->get<std::string>();
}

bool JsonFields::is_null() const {
  return value_->is_null();
}

bool JsonFields::is_array() const {
  return value_->is_array();
}

void JsonFields::fail(const std::string& what) const {
  throw InputError(message(what));
}

std::string JsonFields::message(const std::string& what) const {
  return origin_ + ": " + (path_.empty() ? "" : path_ + ": ") + what;
}

void check_json(const std::string& text, const std::string& origin, int64_t most_bytes) {
  JsonCost cost(text, origin, most_bytes);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      cost.string(i - begin);
    } else if (c == '{' || c == '[') {
      cost.open(c, i);
    } else if (c == '}' || c == ']') {
      cost.close(i);
    } else if (c == ',' || c == ':') {
      cost.separator(c, i);
    }
  }
  cost.token_ends(text.size());
}

nlohmann::json parse_json(const std::string& text, const std::string& origin) {
  return parse_json(text, origin, kMostJsonBytes, [&] { return nlohmann::json::parse(text); });
}

nlohmann::json parse_json(const std::string& text, const std::string& origin, int64_t most_bytes,
                          const std::function<nlohmann::json()>& parse) {
  const std::string other = instead_of_json(text);
  if (!other.empty()) throw InputError(origin + ": not valid JSON: " + other);
  check_json(text, origin, most_bytes);
  try {
    return parse();
  } catch (const nlohmann::json::exception& error) {
    std::string reason = error.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    throw InputError(origin + ": not valid JSON: " + reason.substr(0, 200));
  }
}

nlohmann::json read_json_file(const std::filesystem::path& file, int64_t most_bytes) {
  return parse_json(read_text_file(file, most_bytes), file.string());
}

void check_schema(const JsonFields& file, const std::string& schema, int64_t version) {
  const std::string found = file["schema"].text();
  if (found != schema) {
    const std::string of_found = meaning_of(found), wanted = meaning_of(schema);
    file["schema"].fail("expected \"" + schema + "\", found \"" + found.substr(0, 40) + "\"" +
                        (of_found.empty() || wanted.empty()
                             ? ""
                             : ": the file has " + of_found + ", where " + wanted + " should be"));
  }
  const int64_t written = file["version"].integer(1, INT32_MAX);
  if (written > version) {
    file["version"].fail("written by a newer Headroom: version " + std::to_string(written) +
                         ", this one reads version " + std::to_string(version));
  }
  if (written < version) {
    file["version"].fail("written by an older Headroom: version " + std::to_string(written) +
                         ", this one reads version " + std::to_string(version) + "; make it again");
  }
}

std::string json_text(const nlohmann::json& value, int deepest_expanded) {
  std::string text;
  append_text(value, 0, deepest_expanded, text);
  return text;
}

namespace {

/// The known key that was probably meant: one with a unit ("height_pixels" for "height"), or the nearest by
/// spelling.
std::string meant_key(const std::string& key, const std::vector<std::string>& known) {
  const auto with_unit = std::find_if(known.begin(), known.end(),
                                      [&](const std::string& other) { return other.starts_with(key + "_"); });
  return with_unit == known.end() || key.empty() ? nearest(key, known) : *with_unit;
}

}  // namespace

void require_known_keys(const JsonFields& object, const std::vector<std::string>& known) {
  if (!object.value().is_object()) return;  // reported when its fields are read
  for (const auto& item : object.value().items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    const std::string shown = nlohmann::json(item.key().substr(0, 40))
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string meant = meant_key(item.key(), known);
    object.fail("unknown key " + shown + (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
  }
}

}  // namespace headroom
