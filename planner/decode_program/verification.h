#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/mapped_memory.h"
#include "decoder/base/progress/progress.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/plan/stats.h"
#include "planner/run/runner.h"

namespace headroom {

/// Forwards every region to two sinks.
class TeeSink final : public PictureSink {
 public:
  TeeSink(std::unique_ptr<PictureSink> first, std::unique_ptr<PictureSink> second)
      : PictureSink(first->shape()), first_(std::move(first)), second_(std::move(second)) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override;
  const std::unique_ptr<PictureSink> first_, second_;
};

/// Compares the written picture (the reference) with a picture in a .npy file of the same shape.
class ComparingSink final : public PictureSink {
 public:
  ComparingSink(const std::filesystem::path& npy, const PictureShape& shape);

  /// Returns the largest error, absolute and relative to the reference's largest magnitude, and the PSNR.
  /// The PSNR's peak is the reference's range (largest minus smallest value).
  Verification result(const std::string& compared_with) const;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override {}
  void add(double reference, double found);

  const MappedFile file_;
  const float* picture_;
  double largest_error_ = 0;
  double square_error_ = 0;
  double smallest_ = 0, largest_ = 0;
  int64_t count_ = 0;
};

/// A copy of the picture in a .npy file beside the output. It goes with this object, or on a signal.
class VerifiedCopy {
 public:
  explicit VerifiedCopy(const std::filesystem::path& output);
  ~VerifiedCopy();
  VerifiedCopy(const VerifiedCopy&) = delete;
  VerifiedCopy& operator=(const VerifiedCopy&) = delete;

  const std::filesystem::path& file() const { return file_; }
  /// Returns a sink that writes to `output` and to the copy.
  std::unique_ptr<PictureSink> beside(std::unique_ptr<PictureSink> output) const;

 private:
  const std::filesystem::path file_;
  const RemovedOnSignal on_signal_;
};

/// Verifies the picture in the .npy file `decoded`. Decodes the same latent untiled if memory allows,
/// otherwise with another plan, and compares.
Verification verify(const DoneJob& done, const std::filesystem::path& decoded, Progress& progress);

}  // namespace headroom
