#include "decoder/files/safetensors.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/files/file_kind.h"
#include "decoder/files/stored_dtype.h"

namespace headroom {
namespace {

// One tensor as a safetensors header describes it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;           //< safetensors' name, e.g. "BF16"
  std::vector<int64_t> shape;  //< at most 16 extents, each >= 0
  int64_t begin = 0;           //< bytes, from the end of the header
  int64_t end = 0;
};

constexpr size_t kMostExtents = 16;
constexpr size_t kMostTensors = 1 << 17;
constexpr const char* kMetadata = "__metadata__";

[[noreturn]] void fail_twice(const std::string& origin, const std::string& name) {
  throw InputError(origin + ": " + printable(name) + ": named twice in the header");
}

/// SAX reader of the header. A JSON tree of a hostile header could take many times the header's size. It
/// also hides duplicate keys, and nests as deep as the header.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& origin) : origin_(origin) {}

  std::vector<SafetensorsEntry> entries;

  bool start_object(size_t) override {
    if (place_ == Place::before) {
      place_ = Place::tensors;
    } else if (place_ == Place::tensors) {
      place_ = name_ == kMetadata ? Place::metadata : Place::fields;
      fields_.clear();
    } else {
      fail("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::fields) {
      for (const char* field : {"dtype", "shape", "data_offsets"}) {
        if (!fields_.contains(field))
          throw InputError(origin_ + ": " + printable(name_) + ": " + field + ": missing");
      }
      entry().begin = offsets_[0];
      entry().end = offsets_[1];
    }
    place_ = place_ == Place::tensors ? Place::after : Place::tensors;
    return true;
  }

  bool key(std::string& text) override {
    if (place_ == Place::tensors) {
      name_ = text;
      if (name_ == kMetadata && std::exchange(has_metadata_, true)) fail_twice(origin_, name_);
      if (name_ == kMetadata) return true;
      if (entries.size() == kMostTensors) {
        throw InputError(origin_ + ": header: expected at most " + std::to_string(kMostTensors) +
                         " tensors, found more");
      }
      entries.emplace_back().name = name_;
    } else if (place_ == Place::fields) {
      if (text != "dtype" && text != "shape" && text != "data_offsets") {
        throw InputError(origin_ + ": " + printable(name_) + ": " + printable(text) +
                         ": expected only dtype, shape and data_offsets");
      }
      if (!fields_.insert(text).second) {
        throw InputError(origin_ + ": " + printable(name_) + ": " + text + ": named twice in the header");
      }
      field_ = text;
    }
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::fields || field_ != "dtype") fail("a string");
    entry().dtype = text;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::fields || field_ == "dtype") fail("an array");
    place_ = Place::numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    place_ = Place::fields;
    if (field_ == "shape") {
      entry().shape = numbers_;
    } else if (numbers_.size() == 2) {
      offsets_[0] = numbers_[0];
      offsets_[1] = numbers_[1];
    } else {
      fail(std::to_string(numbers_.size()) + " numbers");
    }
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ != Place::numbers || value > uint64_t{INT64_MAX}) fail(std::to_string(value));
    if (numbers_.size() == kMostExtents) fail("more than " + std::to_string(kMostExtents) + " numbers");
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool number_integer(int64_t value) override { fail(std::to_string(value)); }
  bool number_float(double, const std::string& text) override { fail(printable(text)); }
  bool boolean(bool value) override { fail(value ? "true" : "false"); }
  bool null() override { fail("null"); }
  bool binary(nlohmann::json::binary_t&) override { fail("bytes"); }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    throw InputError(origin_ + ": header: not valid JSON at byte " + std::to_string(position));
  }

 private:
  enum class Place { before, tensors, metadata, fields, numbers, after };

  SafetensorsEntry& entry() { return entries.back(); }

  [[noreturn]] void fail(const std::string& found) const {
    std::string where = "header", expected = "an object";
    if (place_ == Place::tensors) where = printable(name_);
    if (place_ == Place::metadata) where = kMetadata, expected = "only strings";
    if (place_ == Place::fields || place_ == Place::numbers) {
      where = printable(name_) + ": " + field_;
      expected = field_ == "dtype"   ? "a string"
                 : field_ == "shape" ? "an array of integers from 0"
                                     : "two integers from 0";
    }
    throw InputError(origin_ + ": " + where + ": expected " + expected + ", found " + found);
  }

  std::string origin_;
  Place place_ = Place::before;
  std::string name_, field_;
  std::unordered_set<std::string> fields_;
  bool has_metadata_ = false;
  std::vector<int64_t> numbers_;
  int64_t offsets_[2] = {0, 0};
};

void check_names(const std::vector<SafetensorsEntry>& entries, const std::string& origin) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail_twice(origin, std::string(*twice));
}

void check_size(const SafetensorsEntry& entry, const std::string& where) {
  int64_t bytes = stored_element_bytes(entry.dtype);
  if (bytes == 0) return;
  // A zero extent makes the tensor empty, even if the product of the others would overflow.
  const bool empty = std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end();
  for (const int64_t extent : entry.shape) {
    if (!empty && __builtin_mul_overflow(bytes, extent, &bytes)) {
      throw InputError(where + "shape: expected fewer than 2^63 bytes, found " + printable(entry.shape));
    }
  }
  if (empty) bytes = 0;
  if (entry.end - entry.begin != bytes) {
    throw InputError(where + "data_offsets: expected " + std::to_string(bytes) + " bytes for shape " +
                     printable(entry.shape) + " in " + entry.dtype + ", found " +
                     std::to_string(entry.end - entry.begin));
  }
}

/// Rejects gaps, as the safetensors library does. Bytes that belong to no tensor could hide other content.
void check_cover(const std::vector<SafetensorsEntry>& entries, int64_t data_bytes,
                 const std::string& origin) {
  std::vector<const SafetensorsEntry*> ordered;
  ordered.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) ordered.push_back(&entry);
  std::sort(ordered.begin(), ordered.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  int64_t covered = 0;
  for (const SafetensorsEntry* entry : ordered) {
    if (entry->begin != covered) {
      throw InputError(origin + ": " + printable(entry->name) + ": data_offsets: expected to begin at byte " +
                       std::to_string(covered) + ", where the tensor before it ends, found " +
                       std::to_string(entry->begin));
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    throw InputError(origin + ": expected " + std::to_string(covered) +
                     " bytes of tensors after the header, found " + std::to_string(data_bytes));
  }
}

// Parses a header and returns its entries in order. The entries must cover the `data_bytes` after the
// header without gaps or overlaps. Each entry's size must match its shape and dtype. An unknown dtype is an
// error only for code that reads that tensor. "__metadata__" is skipped. Throws InputError: `<origin>:
// <tensor>: <field>: <what was expected>`.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                                       const std::string& origin) {
  if (text.empty() || text.front() != '{') throw InputError(origin + ": header: expected a JSON object");
  HeaderReader reader(origin);
  nlohmann::json::sax_parse(text, &reader);
  check_names(reader.entries, origin);
  int64_t expected_bytes = 0;
  for (const SafetensorsEntry& entry : reader.entries) {
    const std::string where = origin + ": " + printable(entry.name) + ": ";
    if (entry.begin > entry.end) {
      throw InputError(where + "data_offsets: expected begin <= end, found [" + std::to_string(entry.begin) +
                       ", " + std::to_string(entry.end) + "]");
    }
    check_size(entry, where);
    expected_bytes = std::max(expected_bytes, entry.end);
  }
  if (expected_bytes > data_bytes) {
    throw InputError(origin + ": is incomplete: expected " + std::to_string(expected_bytes) +
                     " bytes of tensors after the header, found " + std::to_string(data_bytes) +
                     "; download it again");
  }
  check_cover(reader.entries, data_bytes, origin);
  return std::move(reader.entries);
}

constexpr int64_t kPrefixBytes = 8;                    // the header's length, unsigned, little-endian
constexpr int64_t kLargestHeader = int64_t{32} << 20;  // published models have headers of a few MiB

/// Header length in bytes, checked to lie inside the file.
int64_t header_bytes(const ReadOnlyFile& file) {
  const std::string& origin = file.origin();
  const std::string kind = instead_of_safetensors(file);
  if (!kind.empty()) throw InputError(origin + ": " + kind);
  if (file.bytes() < kPrefixBytes) {
    throw InputError(origin + ": too short for a safetensors file: " + std::to_string(file.bytes()) +
                     " bytes");
  }
  uint64_t length = 0;
  file.read_at(0, &length, kPrefixBytes);
  const int64_t most = std::min(kLargestHeader, file.bytes() - kPrefixBytes);
  if (length > static_cast<uint64_t>(most) && length <= static_cast<uint64_t>(kLargestHeader)) {
    throw InputError(origin + ": is incomplete: header length: expected " + std::to_string(length) +
                     " bytes, found " + std::to_string(most) + "; download it again");
  }
  if (length > static_cast<uint64_t>(most)) {
    throw InputError(origin + ": is no .safetensors file: header length: expected at most " +
                     std::to_string(most) + " bytes, found " + std::to_string(length));
  }
  return static_cast<int64_t>(length);
}

}  // namespace

int64_t TensorView::elements() const {
  int64_t result = 1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t extent : shape) result *= extent;
  return result;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& file)
    : file_(std::make_unique<const ReadOnlyFile>(file)) {
  const int64_t length = header_bytes(*file_);
  std::string text(static_cast<size_t>(length), '\0');
  file_->read_at(kPrefixBytes, text.data(), length);
  const int64_t data_begin = kPrefixBytes + length;
  auto entries = parse_safetensors_header(text, file_->bytes() - data_begin, origin());
  for (SafetensorsEntry& entry : entries) {
    names_.push_back(entry.name);
    by_name_[entry.name] = {{entry.name, parse_stored_dtype(entry.dtype), std::move(entry.shape), file_.get(),
                             data_begin + entry.begin, entry.end - entry.begin},
                            entry.dtype};
  }
}

TensorView SafetensorsFile::tensor(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) throw InputError(origin() + ": " + printable(name) + ": no such tensor");
  if (found->second.view.dtype == StoredDtype::other) {
    throw InputError(origin() + ": " + printable(name) + ": dtype: expected F32, F16 or BF16, found " +
                     printable(found->second.dtype_name));
  }
  return found->second.view;
}

void copy_as_float(const TensorView& view, float* out) {
  copy_as_float(view, {0, view.elements()}, out);
}

void copy_as_float(const TensorView& view, const Interval& range, float* out) {
  const int64_t offset = view.offset + range.begin * stored_element_bytes(view.dtype);
  read_as_float(*view.file, offset, view.dtype, range.length(), out);
}

}  // namespace headroom
