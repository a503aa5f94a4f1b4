#pragma once

#include <string>
#include <vector>

#include "decoder/files/partial_file.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Writes fp32 in C order, channels first, behind a header: .npy and .safetensors. Every run of values goes
/// straight to its place in the file; the picture is never in memory.
class ArraySink : public PictureSink {
 public:
  /// The file's header for an array of this shape.
  using MakeHeader = std::string (*)(const std::vector<int64_t>& shape);
  ArraySink(const std::filesystem::path& path, const PictureShape& shape, MakeHeader make_header);

  static int64_t buffered_bytes();
  /// N×C×H×W, or N×C×T×H×W where there is more than one frame.
  static std::vector<int64_t> array_shape(const PictureShape& shape);

 protected:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override { file_.commit(); }

 private:
  void put_frame(int64_t item, int64_t frame, const Region& region, const float* pixels);
  PartialFile file_;
  int64_t data_begin_ = 0;
  std::vector<float> plane_;  ///< one channel of a few rows
};

/// Header of a .safetensors file with the one fp32 tensor "sample".
std::string make_safetensors_header(const std::vector<int64_t>& shape);

}  // namespace headroom
