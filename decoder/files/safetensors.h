#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/files/read_only_file.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/graph/axes.h"

namespace headroom {

/// A tensor inside a SafetensorsFile, valid as long as that is.
struct TensorView {
  std::string name;
  StoredDtype dtype = StoredDtype::other;
  std::vector<int64_t> shape;
  const ReadOnlyFile* file = nullptr;
  int64_t offset = 0;  ///< bytes from the start of the file; C order, little-endian
  int64_t bytes = 0;

  int64_t elements() const;
};

/// One .safetensors file. The header is checked before anything of it is believed.
class SafetensorsFile {
 public:
  /// Throws InputError, one line naming the file, the tensor and what was expected.
  explicit SafetensorsFile(const std::filesystem::path& file);

  const std::string& origin() const { return file_->origin(); }     ///< the path, for messages
  const std::vector<std::string>& names() const { return names_; }  ///< in the header's order
  bool contains(const std::string& name) const { return by_name_.contains(name); }
  /// Throws InputError where the file has no such tensor, or has it in a dtype that the decoder does not
  /// read.
  TensorView tensor(const std::string& name) const;

 private:
  struct Stored {
    TensorView view;
    std::string dtype_name;
  };
  std::unique_ptr<const ReadOnlyFile> file_;  ///< stays in place when this is moved, for the views
  std::vector<std::string> names_;
  std::unordered_map<std::string, Stored> by_name_;
};

/// Reads a tensor as fp32; `out` holds `view.elements()` floats. Beside `out` it takes at most 256 KiB.
/// Throws DeviceError where the file can no longer be read.
void copy_as_float(const TensorView& view, float* out);
/// As above, but only the elements in `range`, counted in C order. `range` must lie inside the tensor.
void copy_as_float(const TensorView& view, const Interval& range, float* out);

}  // namespace headroom
