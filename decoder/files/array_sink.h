#pragma once

#include <string>
#include <vector>

#include "decoder/files/planar_sink.h"
#include "decoder/outputs/partial_file.h"

namespace headroom {

/// Writes fp32 behind a header: .npy and .safetensors. Every run of values goes straight to its place in the
/// file.
class ArraySink : public PlanarSink {
 public:
  /// The file's header for an array of this shape.
  using MakeHeader = std::string (*)(const std::vector<int64_t>& shape);
  ArraySink(const std::filesystem::path& path, const PictureShape& shape, MakeHeader make_header);

  /// N×C×H×W, or N×C×T×H×W where there is more than one frame.
  static std::vector<int64_t> array_shape(const PictureShape& shape);

 protected:
  void put_run(int64_t first, const float* values, int64_t count) override;
  void complete() override { file_.commit(); }

 private:
  PartialFile file_;
  int64_t data_begin_ = 0;
};

/// Header of a .safetensors file with the one fp32 tensor "sample".
std::string make_safetensors_header(const std::vector<int64_t>& shape);

}  // namespace headroom
