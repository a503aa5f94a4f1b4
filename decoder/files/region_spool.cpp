#include "decoder/files/region_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/unnamed_file.h"

namespace headroom {
namespace {

int open_spool(const std::filesystem::path& folder) {
  const int descriptor = open_unnamed_file(folder);
  if (descriptor >= 0) return descriptor;
  throw DeviceError(folder.string() + ": cannot make a file for rows of the output: " + strerror(errno));
}

/// Repeats `call` until all bytes are transferred.
template <typename Call>
void transfer(const char* what, char* memory, int64_t bytes, int64_t offset, const Call& call) {
  while (bytes > 0) {
    const ssize_t done = call(memory, static_cast<size_t>(bytes), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw DeviceError(std::string("cannot ") + what +
                        " rows of the output: " + (done < 0 ? strerror(errno) : "the file ends early"));
    memory += done;
    bytes -= done;
    offset += done;
  }
}

}  // namespace

RegionSpool::RegionSpool(const PictureShape& shape, const Interval& rows, const std::filesystem::path& folder)
    : PictureSink(shape), rows_(rows), descriptor_(open_spool(folder)) {}

RegionSpool::~RegionSpool() {
  close(descriptor_);
}

int64_t RegionSpool::offset(int64_t item, int64_t frame, int64_t row, int64_t column) const {
  const int64_t before =
      ((item * shape().frames + frame) * rows_.length() + row - rows_.begin) * shape().columns + column;
  return before * shape().channels * static_cast<int64_t>(sizeof(float));
}

void RegionSpool::put(int64_t item, const Region& region, const float* pixels) {
  const int64_t values = region.x.length() * shape().channels;
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    for (int64_t y = region.y.begin; y < region.y.end; ++y, pixels += values) {
      // pwrite() does not change what it writes.
      auto* memory = const_cast<char*>(reinterpret_cast<const char*>(pixels));
      transfer("write", memory, values * static_cast<int64_t>(sizeof(float)),
               offset(item, t, y, region.x.begin),
               [&](char* from, size_t bytes, off_t at) { return pwrite(descriptor_, from, bytes, at); });
    }
  }
}

void RegionSpool::read(int64_t item, int64_t frame, const Interval& rows, float* pixels) const {
  transfer("read", reinterpret_cast<char*>(pixels),
           rows.length() * shape().columns * shape().channels * static_cast<int64_t>(sizeof(float)),
           offset(item, frame, rows.begin, 0),
           [&](char* to, size_t bytes, off_t at) { return pread(descriptor_, to, bytes, at); });
}

}  // namespace headroom
