#pragma once

#include <filesystem>
#include <string>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/plan/stats.h"
#include "decoder/program/decode_job.h"
#include "decoder/progress/progress.h"

namespace headroom {

/// Hands every region to two sinks.
class TeeSink final : public PictureSink {
 public:
  TeeSink(PictureSink& first, PictureSink& second)
      : PictureSink(first.shape()), first_(first), second_(second) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override;
  PictureSink& first_;
  PictureSink& second_;
};

/// Compares what it is given, the reference, with a picture that lies in a .npy file of the same shape.
class ComparingSink final : public PictureSink {
 public:
  ComparingSink(const std::filesystem::path& npy, const PictureShape& shape);
  ~ComparingSink() override;

  /// Largest error, also relative to the reference's largest magnitude; PSNR with the reference's range
  /// (largest minus smallest value) as the peak.
  Verification result(const std::string& compared_with) const;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override {}
  void add(double reference, double found);

  const float* picture_ = nullptr;
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  double largest_error_ = 0;
  double square_error_ = 0;
  double smallest_ = 0, largest_ = 0;
  int64_t count_ = 0;
};

/// Compares the picture in the .npy file `decoded` with the untiled decode of the same latent where the
/// machine has the memory, otherwise with a decode by another plan.
Verification verify(const DecodeJob& done, const std::filesystem::path& decoded, Progress& progress);

}  // namespace headroom
