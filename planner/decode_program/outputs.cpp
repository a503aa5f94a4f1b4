#include "planner/decode_program/outputs.h"

#include "decoder/base/amounts.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/text.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/preview_sink.h"

namespace headroom {
namespace {

/// An output, and the preview in front of it.
class OutputAndPreview final : public PictureSink {
 public:
  OutputAndPreview(std::unique_ptr<PictureSink> output, const std::string& preview_file)
      : PictureSink(output->shape()), output_(std::move(output)), preview_(*output_, preview_file) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    preview_.write(item, region, pixels);
  }
  void complete() override { preview_.finish(); }

  const std::unique_ptr<PictureSink> output_;
  PreviewSink preview_;
};

}  // namespace

std::vector<NamedFile> files_beside(const DecodeOptions& options) {
  return {{"--preview", options.preview_file},
          {"--stats", options.stats_file},
          {"--trace", options.trace_file},
          {"--json", options.json ? "-" : ""}};
}

std::vector<NamedFile> files_read(const DecodeOptions& options) {
  std::vector<NamedFile> read{{"--plan", options.plan_file},
                              {"--queue", options.queue_file},
                              {"--profile", options.profile_file},
                              {"--model", options.model},
                              {"--weights", options.weights}};
  for (const std::string& latent : options.latents) read.push_back({"--latent", latent_file_of(latent)});
  return read;
}

std::vector<NamedFile> files_of_output(const std::string& option, const std::string& output,
                                       const PictureShape& shape) {
  const std::string suffix = std::filesystem::path(output).extension().string();
  std::vector<NamedFile> files;
  if (shape.items == 1 || suffix.empty() || suffix == ".npy" || suffix == ".safetensors" || is_stream(output))
    return {{option, output, true}};
  for (int64_t item = 0; item < shape.items; ++item)
    files.push_back({option, path_of_item(output, item, shape.items).string()});
  return files;
}

std::unique_ptr<PictureSink> open_output(const DecodeOptions& options, const PictureShape& shape) {
  if (shape.items > 1) {
    std::vector<NamedFile> written = files_beside(options);
    for (NamedFile& file : files_of_output("-o", options.output, shape)) written.push_back(std::move(file));
    require_apart(written, files_read(options));
  }
  std::unique_ptr<PictureSink> output = open_sink(options.output, shape, options.frame_rate, options.quality);
  if (options.preview_file.empty()) return output;
  return std::make_unique<OutputAndPreview>(std::move(output), options.preview_file);
}

void print_summary(const RunStats& stats, const std::string& output, std::ostream& out) {
  out << one_line(output) << ": " << stats.dtype << after_dtype(stats.tf32) << ", "
      << format_seconds(stats.seconds) << ", peak " << format_bytes(stats.peak_bytes) << " (predicted "
      << format_bytes(stats.predicted_peak_bytes) << ", limit " << format_bytes(stats.limit_bytes)
      << "), resident growth " << format_bytes(stats.rss_growth_bytes) << "\n";
  if (const auto& v = stats.verification) {
    out << "compared with " << v->compared_with << ": largest error " << v->largest_error << " ("
        << v->largest_error_relative << " of the largest magnitude " << v->reference_magnitude << "), PSNR "
        << v->psnr_db << " dB"
        << (stats.tf32.any() ? " (that decode is in full fp32; TF32 accounts for a relative error up to 1e-2)"
                             : "")
        << "\n";
  }
}

}  // namespace headroom
