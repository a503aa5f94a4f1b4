#include "decoder/files/region_spool.h"

#include <string>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
namespace {

int open_spool(const std::filesystem::path& folder) {
  const int descriptor = open_unnamed_file(folder);
  if (descriptor >= 0) return descriptor;
  throw DeviceError(folder.string() + ": cannot make a file for rows of the output: " + last_failure());
}

/// Throws DeviceError if a transfer failed with this errno.
void require(const char* what, int error) {
  if (error == 0) return;
  throw DeviceError(std::string("cannot ") + what + " rows of the output: " +
                    (error == kEndsEarly ? "the file ends early" : std::generic_category().message(error)));
}

}  // namespace

RegionSpool::RegionSpool(const PictureShape& shape, const Interval& rows, const std::filesystem::path& folder)
    : PictureSink(shape), rows_(rows), descriptor_(open_spool(folder)) {}

int64_t RegionSpool::offset(int64_t item, int64_t frame, int64_t row, int64_t column) const {
  const int64_t before =
      ((item * shape().frames + frame) * rows_.length() + row - rows_.begin) * shape().columns + column;
  return before * shape().channels * static_cast<int64_t>(sizeof(float));
}

void RegionSpool::put(int64_t item, const Region& region, const float* pixels) {
  const int64_t values = region.x.length() * shape().channels;
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    for (int64_t y = region.y.begin; y < region.y.end; ++y, pixels += values) {
      require("write", write_fully(descriptor_.number(), offset(item, t, y, region.x.begin), pixels,
                                   values * static_cast<int64_t>(sizeof(float))));
    }
  }
}

void RegionSpool::read(int64_t item, int64_t frame, const Interval& rows, float* pixels) const {
  const int64_t values = rows.length() * shape().columns * shape().channels;
  require("read", read_fully(descriptor_.number(), offset(item, frame, rows.begin, 0), pixels,
                             values * static_cast<int64_t>(sizeof(float))));
}

}  // namespace headroom
