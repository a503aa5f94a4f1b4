#pragma once

#include <string>
#include <vector>

#include "decoder/base/os/partial_file.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Base of sinks that store values in numpy's and torch's layout, N×C×T×H×W in C order. It collects runs of
/// values of a row and passes on each run with its offset. The whole picture is never in memory.
class PlanarSink : public PictureSink {
 public:
  explicit PlanarSink(const PictureShape& shape);

  /// Size of the run buffer in bytes.
  static int64_t buffered_bytes();

 protected:
  void put(int64_t item, const Region& region, const float* pixels) final;
  /// Writes contiguous values, beginning at element `first` of the picture.
  virtual void put_run(int64_t first, const float* values, int64_t count) = 0;
  /// Called when all runs of a region are written.
  virtual void end_region(int64_t /*item*/, const Region& /*region*/) {}

 private:
  void put_frame(int64_t item, int64_t frame, const Region& region, const float* pixels);
  std::vector<float> run_;
};

/// Writes .npy and .safetensors files: a header, then fp32 values. Each run of values goes straight to its
/// final offset in the file.
class ArraySink : public PlanarSink {
 public:
  /// Makes the file's header for an array of this shape.
  using MakeHeader = std::string (*)(const std::vector<int64_t>& shape);
  ArraySink(const std::filesystem::path& path, const PictureShape& shape, MakeHeader make_header);

  /// N×C×H×W for one frame, N×C×T×H×W for several.
  static std::vector<int64_t> array_shape(const PictureShape& shape);

 protected:
  void put_run(int64_t first, const float* values, int64_t count) override;
  void complete() override { file_.commit(); }

 private:
  PartialFile file_;
  int64_t data_begin_ = 0;
};

/// Makes the bytes before the data of a .safetensors file from the JSON that describes its tensors.
std::string safetensors_head(std::string json);

/// Makes the header of a .safetensors file with one fp32 tensor, "sample".
std::string make_safetensors_header(const std::vector<int64_t>& shape);

}  // namespace headroom
