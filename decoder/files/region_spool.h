#pragma once

#include <filesystem>

#include "decoder/base/os/open_file.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Buffers some rows of a picture in an unnamed file on disk, for reading back later. The kernel frees the
/// file when the process ends.
class RegionSpool final : public PictureSink {
 public:
  /// Accepts regions within `rows` of every frame. Throws DeviceError if no file can be created in `folder`.
  RegionSpool(const PictureShape& shape, const Interval& rows, const std::filesystem::path& folder);

  /// Reads whole rows of one frame, [rows][columns][channels]. They must have been written. Throws
  /// DeviceError.
  void read(int64_t item, int64_t frame, const Interval& rows, float* pixels) const;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override {}
  int64_t offset(int64_t item, int64_t frame, int64_t row, int64_t column) const;

  const Interval rows_;
  const Descriptor descriptor_;
};

}  // namespace headroom
