#include "decoder/files/latent_file.h"

#include <algorithm>

#include "decoder/files/npy.h"
#include "decoder/files/printable.h"
#include "decoder/files/read_only_file.h"
#include "decoder/files/safetensors.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/graph/errors.h"

namespace headroom {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 30;
constexpr std::string_view kSafetensors = ".safetensors";

/// Returns the number of elements.
int64_t check_shape(const std::vector<int64_t>& shape, const std::string& where) {
  if (shape.size() != 4 && shape.size() != 5) {
    throw InputError(where + ": shape: expected N×C×H×W or N×C×T×H×W, found " + printable(shape));
  }
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 1) throw InputError(where + ": shape: expected positive extents, found " + printable(shape));
    if (extent > kMostElements / elements) {
      throw InputError(where + ": shape: expected at most 2^30 elements, found " + printable(shape));
    }
    elements *= extent;
  }
  return elements;
}

void check_finite(const Array& latent, const std::string& where) {
  const int64_t bad = first_non_finite(latent.values.data(), static_cast<int64_t>(latent.values.size()));
  if (bad >= 0) throw InputError(where + ": element " + std::to_string(bad) + " is not finite");
}

StoredDtype dtype_of(const std::string& descr) {
  return descr == "<f2" ? StoredDtype::f16 : descr == "<f8" ? StoredDtype::f64 : StoredDtype::f32;
}

Array read_npy(const std::string& path) {
  const ReadOnlyFile file(path);
  std::string start(static_cast<size_t>(std::min(file.bytes(), kMostNpyHeaderBytes)), '\0');
  file.read_at(0, start.data(), static_cast<int64_t>(start.size()));
  const NpyHeader header = parse_npy_header(start, file.bytes(), path);
  const int64_t elements = check_shape(header.shape, path);
  Array latent{header.shape, std::vector<float>(static_cast<size_t>(elements))};
  file.read_as_float(header.data_begin, dtype_of(header.descr), elements, latent.values.data());
  check_finite(latent, path);
  return latent;
}

/// An empty `key` asks for the first tensor.
Array read_safetensors(const std::string& path, const std::string& key) {
  const SafetensorsFile file(path);
  if (file.names().empty()) throw InputError(path + ": expected a tensor, found none");
  const TensorView view = file.tensor(key.empty() ? file.names().front() : key);
  const std::string where = path + ": " + printable(view.name);
  const int64_t elements = check_shape(view.shape, where);
  Array latent{view.shape, std::vector<float>(static_cast<size_t>(elements))};
  copy_as_float(view, latent.values.data());
  check_finite(latent, where);
  return latent;
}

}  // namespace

Array read_latent(const std::string& argument) {
  if (argument.ends_with(".npy")) return read_npy(argument);
  const size_t at = argument.find(std::string(kSafetensors) + ":");
  if (at != std::string::npos) {
    const size_t colon = at + kSafetensors.size();
    if (colon + 1 == argument.size())
      throw InputError(argument + ": expected a tensor's name after the colon");
    return read_safetensors(argument.substr(0, colon), argument.substr(colon + 1));
  }
  if (argument.ends_with(kSafetensors)) return read_safetensors(argument, "");
  throw InputError(argument + ": expected a latent in .npy, .safetensors or .safetensors:key");
}

}  // namespace headroom
