#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "decoder/base/errors.h"

namespace headroom {

/// Checked access to a JSON value that came from outside. Every failure is an InputError of one line:
/// `plan.json: passes[3].tiles: expected an array, found a string`.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& value, std::string origin, std::string path = {})
      : value_(&value), origin_(std::move(origin)), path_(std::move(path)) {}

  bool has(const std::string& key) const;
  /// The member `key`, which must exist. This value must be an object.
  JsonFields operator[](const std::string& key) const;
  /// Element `i`; this value must be an array that has it.
  JsonFields operator[](size_t i) const;
  /// Length of an array. Fails if it is greater than `most`.
  size_t size(size_t most) const;

  int64_t integer(int64_t least, int64_t most) const;
  /// The integer of the member `key`, or `otherwise` if this object has no such member.
  int64_t integer_or(const std::string& key, int64_t least, int64_t most, int64_t otherwise) const;
  double number() const;   ///< finite
  double amount() const;   ///< finite, at least 0
  double nonzero() const;  ///< finite, other than 0
  bool boolean() const;
  std::string text() const;
  bool is_null() const;
  bool is_array() const;

  const nlohmann::json& value() const { return *value_; }
  /// Throws InputError: `<origin>: <path>: <what>`.
  [[noreturn]] void fail(const std::string& what) const;
  /// The message that fail() throws.
  std::string message(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string origin_;
  std::string path_;
};

/// Parses a file of at most `most_bytes` that check_json() accepts. Throws InputError naming the file.
nlohmann::json read_json_file(const std::filesystem::path& file, int64_t most_bytes);
/// Parses text that check_json() accepts. `origin` names the text in errors. Throws InputError.
nlohmann::json parse_json(const std::string& text, const std::string& origin);
/// Limit on the memory of a JSON text and its values together.
constexpr int64_t kMostJsonBytes = int64_t{192} << 20;
/// parse_json() with another memory limit. `parse` calls the JSON library on the text.
nlohmann::json parse_json(const std::string& text, const std::string& origin, int64_t most_bytes,
                          const std::function<nlohmann::json()>& parse);

/// Rejects text before the JSON library parses it, if it is nested deeper than 64 levels, has strings of more
/// than 1 MiB, or is too large. Throws InputError.
void check_json(const std::string& text, const std::string& origin, int64_t most_bytes = kMostJsonBytes);

/// Rejects a file whose "schema" is not `schema` or whose integer "version" is not `version`.
void check_schema(const JsonFields& file, const std::string& schema, int64_t version);

/// Formats JSON with one element per line. Containers deeper than `deepest_expanded` are written on one line.
std::string json_text(const nlohmann::json& value, int deepest_expanded);

/// Rejects unknown keys in a document that people write. Throws InputError with the key and the nearest known
/// one. Do not use it for documents that programs write: newer versions may add keys.
void require_known_keys(const JsonFields& object, const std::vector<std::string>& known);

}  // namespace headroom
