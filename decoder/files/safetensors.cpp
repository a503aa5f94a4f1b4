#include "decoder/files/safetensors.h"

#include <algorithm>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/files/file_kind.h"
#include "decoder/files/safetensors_header.h"

namespace headroom {
namespace {

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
