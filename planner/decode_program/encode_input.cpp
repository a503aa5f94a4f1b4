#include "planner/decode_program/encode_input.h"

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/files/latent_file.h"
#include "decoder/graph/geometry.h"
#include "decoder/pictures/read_picture.h"

namespace headroom {
namespace {

bool is_array(const std::filesystem::path& path) {
  const std::string suffix =
      lower_case(std::filesystem::path(latent_file_of(path.string())).extension().string());
  return suffix == ".npy" || suffix == ".safetensors";
}

}  // namespace

bool is_picture(const std::filesystem::path& path) {
  const std::string suffix = lower_case(path.extension().string());
  return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg" || suffix == ".webp";
}

Array read_input(const std::filesystem::path& path, int64_t channels) {
  if (!is_array(path)) return read_picture(path, channels);
  Array array = read_latent(path.string());
  if (array.shape.size() == 3) array.shape.insert(array.shape.begin(), 1);
  if (array.shape[1] != channels) {
    throw InputError(printable(path.string()) + ": expected " + std::to_string(channels) +
                     " channels along its second axis, found " + std::to_string(array.shape[1]));
  }
  return array;
}

planner::PictureSize size_of(const Array& array) {
  const std::vector<int64_t>& shape = array.shape;
  return {extent_of_array(shape), shape[0]};
}

Extent cropped(const Extent& extent, const Axes<int32_t>& scale) {
  return {(extent.t - 1) / scale.t * scale.t + 1, extent.y / scale.y * scale.y, extent.x / scale.x * scale.x};
}

Array crop(Array array, const Extent& to) {
  const planner::PictureSize from = size_of(array);
  if (from.extent == to) return array;
  Array out{array.shape, {}};
  out.shape[out.shape.size() - 2] = to.y;
  out.shape.back() = to.x;
  if (out.shape.size() == 5) out.shape[2] = to.t;
  const int64_t top = (from.extent.y - to.y) / 2, left = (from.extent.x - to.x) / 2;
  out.values.reserve(static_cast<size_t>(from.batch * array.shape[1] * positions(to)));
  for (int64_t plane = 0; plane < from.batch * array.shape[1]; ++plane) {
    for (int64_t t = 0; t < to.t; ++t) {
      for (int64_t y = 0; y < to.y; ++y) {
        const int64_t row = (plane * from.extent.t + t) * from.extent.y + top + y;
        const float* begin = array.values.data() + row * from.extent.x + left;
        out.values.insert(out.values.end(), begin, begin + to.x);
      }
    }
  }
  return out;
}

}  // namespace headroom
