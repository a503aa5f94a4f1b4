#include "planner/decode_program/verification.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "decoder/base/os/process_memory.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/validator/validator.h"

namespace headroom {
namespace {

int64_t picture_bytes(const PictureShape& shape) {
  return shape.items * shape.channels * shape.frames * shape.rows * shape.columns * int64_t{sizeof(float)};
}

}  // namespace

void TeeSink::put(int64_t item, const Region& region, const float* pixels) {
  first_->write(item, region, pixels);
  second_->write(item, region, pixels);
}

void TeeSink::complete() {
  first_->finish();
  second_->finish();
}

ComparingSink::ComparingSink(const std::filesystem::path& npy, const PictureShape& shape)
    : PictureSink(shape), file_(npy, picture_bytes(shape)) {
  // The values are at the end of the file. The header's length varies.
  picture_ = reinterpret_cast<const float*>(file_.end() - picture_bytes(shape));
}

void ComparingSink::put(int64_t item, const Region& region, const float* pixels) {
  const PictureShape& s = shape();
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    for (int64_t y = region.y.begin; y < region.y.end; ++y) {
      for (int64_t x = region.x.begin; x < region.x.end; ++x) {
        for (int64_t c = 0; c < s.channels; ++c) {
          add(*pixels++, picture_[(((item * s.channels + c) * s.frames + t) * s.rows + y) * s.columns + x]);
        }
      }
    }
  }
}

void ComparingSink::add(double reference, double found) {
  const double error = std::abs(found - reference);
  largest_error_ = std::max(largest_error_, error);
  square_error_ += error * error;
  smallest_ = count_ == 0 ? reference : std::min(smallest_, reference);
  largest_ = count_ == 0 ? reference : std::max(largest_, reference);
  ++count_;
}

Verification ComparingSink::result(const std::string& compared_with) const {
  Verification v;
  v.compared_with = compared_with;
  v.largest_error = largest_error_;
  v.reference_magnitude = std::max(std::abs(smallest_), std::abs(largest_));
  v.largest_error_relative =
      v.reference_magnitude > 0 ? largest_error_ / v.reference_magnitude : largest_error_;
  const double mean_square = square_error_ / double(std::max<int64_t>(count_, 1));
  v.psnr_db = mean_square > 0 ? 20 * std::log10((largest_ - smallest_) / std::sqrt(mean_square))
                              : std::numeric_limits<double>::infinity();
  return v;
}

VerifiedCopy::VerifiedCopy(const std::filesystem::path& output)
    : file_(output.string() + ".verify-" + process_mark() + ".npy"), on_signal_(file_) {}

VerifiedCopy::~VerifiedCopy() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

std::unique_ptr<PictureSink> VerifiedCopy::beside(std::unique_ptr<PictureSink> output) const {
  auto copy = open_sink(file_, output->shape());
  return std::make_unique<TeeSink>(std::move(output), std::move(copy));
}

Verification verify(const DoneJob& done, const std::filesystem::path& decoded, Progress& progress) {
  const auto& [model, plan, weights, latent, gpu] = done;
  ComparingSink comparison(decoded, picture_shape(model.graph, plan.request));
  ProgressEvents events(progress, nullptr, &model.graph);
  const int64_t free_bytes = gpu != nullptr ? gpu->free_bytes() : available_bytes();
  const auto with_room = [&, on_gpu = gpu != nullptr](Plan other) {
    other.request.tf32 = {};  // compare with full fp32
    // On a GPU, the new plan's offsets leave gaps, so the original limit may be too low. Allow all free
    // memory.
    if (on_gpu) other.limit_bytes = free_bytes;
    return other;
  };
  Plan reference = with_room(untiled_plan(model, plan.request));
  // The predicted peak excludes the libraries' own memory. A margin of 50 % is ample. On a GPU, the untiled
  // plan may also have tiles too large for the libraries, so validate it.
  const bool untiled_fits = reference.predicted_peak_bytes * 3 / 2 < free_bytes &&
                            (gpu == nullptr || validate(reference, model).empty());
  if (!untiled_fits) reference = with_room(with_halved_tiles(model, plan, {}));
  const std::string compared_with =
      untiled_fits
          ? kUntiledDecode
          : "another plan under the same limit (tiles half as high); untiled would not fit this machine";
  progress.tell(VerificationStarted{compared_with});
  decode(model, reference, weights, latent, comparison, {&events, {}, gpu});
  comparison.finish();
  return comparison.result(compared_with);
}

}  // namespace headroom
