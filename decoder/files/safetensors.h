#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/base/axes.h"
#include "decoder/base/os/open_file.h"
#include "decoder/files/stored_dtype.h"

namespace headroom {

/// A tensor inside a SafetensorsFile. Valid as long as the file object.
struct TensorView {
  std::string name;
  StoredDtype dtype = StoredDtype::other;
  std::vector<int64_t> shape;
  const ReadOnlyFile* file = nullptr;
  int64_t offset = 0;  ///< bytes from the start of the file; C order, little-endian
  int64_t bytes = 0;

  int64_t elements() const;
};

/// One .safetensors file. The constructor validates the header.
class SafetensorsFile {
 public:
  /// Throws InputError, one line naming the file, the tensor and what was expected.
  explicit SafetensorsFile(const std::filesystem::path& file);

  const std::string& origin() const { return file_->origin(); }     ///< the path, for messages
  const std::vector<std::string>& names() const { return names_; }  ///< in the header's order
  bool contains(const std::string& name) const { return by_name_.contains(name); }
  /// Throws InputError if the file lacks the tensor, or if its dtype is not supported.
  TensorView tensor(const std::string& name) const;

 private:
  struct Stored {
    TensorView view;
    std::string dtype_name;
  };
  std::unique_ptr<const ReadOnlyFile> file_;  ///< on the heap, so that views stay valid after a move
  std::vector<std::string> names_;
  std::unordered_map<std::string, Stored> by_name_;
};

/// Reads a tensor as fp32. `out` holds `view.elements()` floats. It uses a buffer of at most 256 KiB. Throws
/// DeviceError if the file can no longer be read.
void copy_as_float(const TensorView& view, float* out);
/// Like the overload above, for the elements in `range`, counted in C order. `range` must lie inside the
/// tensor.
void copy_as_float(const TensorView& view, const Interval& range, float* out);

}  // namespace headroom
