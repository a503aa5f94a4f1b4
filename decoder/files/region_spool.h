#pragma once

#include <filesystem>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Some rows of a picture in a file without a name, until somebody takes them. It is gone with the process,
/// however that ends.
class RegionSpool final : public PictureSink {
 public:
  /// Takes regions of these rows of every frame. Throws DeviceError where the folder takes no file.
  RegionSpool(const PictureShape& shape, const Interval& rows, const std::filesystem::path& folder);
  ~RegionSpool() override;

  /// Whole rows of one frame, as they were written: [rows][columns][channels]. Throws DeviceError.
  void read(int64_t item, int64_t frame, const Interval& rows, float* pixels) const;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override {}
  int64_t offset(int64_t item, int64_t frame, int64_t row, int64_t column) const;

  const Interval rows_;
  int descriptor_ = -1;
};

}  // namespace headroom
