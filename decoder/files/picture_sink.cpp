#include "decoder/files/picture_sink.h"

#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr int64_t kMostTerm = 1'000'000;

/// Parses the whole text as an integer. Returns 0 if it is not one that a frame rate allows.
int64_t term(std::string_view text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = failed == std::errc() && end == text.data() + text.size();
  return good && value >= 1 && value <= kMostTerm ? value : 0;
}

}  // namespace

FrameRate parse_frame_rate(const std::string& text, const std::string& option) {
  const std::string_view whole = text;
  const size_t slash = whole.find('/');
  const FrameRate rate{term(whole.substr(0, slash)),
                       slash == std::string_view::npos ? 1 : term(whole.substr(slash + 1))};
  if (rate.frames == 0 || rate.seconds == 0) {
    throw InputError(option + ": expected frames per second like 24 or 30000/1001, numbers from 1 to " +
                     std::to_string(kMostTerm) + ", found " + printable(text));
  }
  return rate;
}

namespace {

int64_t positions_of(const PictureShape& shape) {
  int64_t values = 1;
  for (const int64_t extent : {shape.items, shape.channels, shape.frames, shape.rows, shape.columns}) {
    if (extent < 1)
      throw InputError("picture shape: expected positive extents, found " + std::to_string(extent));
    if (extent > (int64_t{1} << 60) / values)
      throw InputError("picture shape: expected fewer than 2^60 values");
    values *= extent;
  }
  return values / shape.channels;
}

}  // namespace

PictureSink::PictureSink(const PictureShape& shape) : shape_(shape), positions_left_(positions_of(shape)) {}

std::filesystem::path path_of_item(const std::filesystem::path& path, int64_t item, int64_t items) {
  if (items == 1) return path;
  return path.parent_path() / (path.stem().string() + "-" + std::to_string(item) + path.extension().string());
}

int64_t PictureSink::checked_positions(int64_t item, const Region& region) const {
  const Region picture = whole({shape_.frames, shape_.rows, shape_.columns});
  if (item < 0 || item >= shape_.items || !picture.t.contains(region.t) || !picture.y.contains(region.y) ||
      !picture.x.contains(region.x)) {
    throw std::logic_error("PictureSink::write: the region lies outside the picture");
  }
  const int64_t count = positions(extent_of(region));
  if (count > positions_left_) throw std::logic_error("PictureSink::write: positions come twice");
  return count;
}

void PictureSink::write(int64_t item, const Region& region, const float* pixels) {
  const int64_t count = checked_positions(item, region);
  if (count == 0) return;
  put(item, region, pixels);
  positions_left_ -= count;
}

void PictureSink::write_bytes(int64_t item, const Region& region, const uint8_t* pixels) {
  const int64_t count = checked_positions(item, region);
  if (count == 0) return;
  put_bytes(item, region, pixels);
  positions_left_ -= count;
}

void PictureSink::wrote(int64_t item, const Region& region) {
  positions_left_ -= checked_positions(item, region);
}

void PictureSink::put_bytes(int64_t, const Region&, const uint8_t*) {
  throw std::logic_error("PictureSink::write_bytes: the sink takes values, not bytes");
}

void PictureSink::finish() {
  if (positions_left_ != 0) {
    throw std::logic_error("PictureSink::finish: " + std::to_string(positions_left_) +
                           " positions were never written");
  }
  complete();
}

}  // namespace headroom
