#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/latent_file.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/latents/scale.h"
#include "decoder/pictures/read_picture.h"
#include "decoder/weights/open_model.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/encode_input.h"
#include "planner/decode_program/prepared.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using planner::PictureSize;

/// Keeps the first `channels` channels: the means, without the log-variances.
Array means_of(const Array& moments, int64_t channels) {
  if (moments.shape[1] == channels) return moments;
  Array means{moments.shape, {}};
  means.shape[1] = channels;
  const auto of_item =
      static_cast<std::ptrdiff_t>(moments.values.size() / static_cast<size_t>(moments.shape[0]));
  const std::ptrdiff_t kept = of_item / moments.shape[1] * channels;
  for (int64_t item = 0; item < moments.shape[0]; ++item) {
    const auto begin = moments.values.begin() + item * of_item;
    means.values.insert(means.values.end(), begin, begin + kept);
  }
  return means;
}

/// Collects an encoder's output, N×C×H×W, or N×C×T×H×W for several frames, and writes it as a latent. It
/// allocates the array with the first values, so that the session counts it, as the plan does.
class LatentSink final : public PlanarSink {
 public:
  /// `apply_scale` gives the means the scale of the file.
  LatentSink(const PictureShape& shape, fs::path file, int64_t channels,
             std::function<void(Array&)> apply_scale)
      : PlanarSink(shape),
        file_(std::move(file)),
        channels_(channels),
        apply_scale_(std::move(apply_scale)) {}

 private:
  void put_run(int64_t first, const float* values, int64_t count) override {
    if (array_.values.empty()) {
      array_.shape = ArraySink::array_shape(shape());
      array_.values.resize(static_cast<size_t>(shape().items * shape().channels * shape().frames *
                                               shape().rows * shape().columns));
    }
    std::copy_n(values, count, array_.values.begin() + first);
  }
  void complete() override {
    Array latent = means_of(array_, channels_);
    array_ = {};
    apply_scale_(latent);
    write_latent(file_, latent);
  }

  Array array_;
  const fs::path file_;
  const int64_t channels_;
  const std::function<void(Array&)> apply_scale_;
};

/// The pictures of a folder that have no latent in `outputs` yet, each with its latent's file.
std::vector<std::pair<fs::path, fs::path>> pictures_without_latent(const std::string& folder,
                                                                   const fs::path& outputs, size_t& skipped) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_picture(at->path())) files.push_back(at->path());
  }
  if (error) throw InputError("--pictures " + printable(folder) + ": " + error.message());
  if (files.empty())
    throw InputError("--pictures " + printable(folder) + ": expected .png, .jpg or .webp files, found none");
  std::sort(files.begin(), files.end());
  std::map<std::string, fs::path> by_output;
  std::vector<std::pair<fs::path, fs::path>> left;
  for (const fs::path& file : files) {
    const fs::path output = outputs / file.stem().concat(".safetensors");
    const auto [other, is_new] = by_output.emplace(output.string(), file);
    if (!is_new)
      throw InputError("--pictures: " + printable(file.string()) + " and " +
                       printable(other->second.string()) + " would both become " +
                       printable(output.string()));
    if (fs::exists(output)) {
      ++skipped;
    } else {
      left.emplace_back(file, output);
    }
  }
  return left;
}

class EncodeJobs {
 public:
  EncodeJobs(const EncodeOptions& options, Work& work, Notes& notes)
      : options_(options),
        work_(work),
        notes_(notes),
        decoder_(std::make_shared<const Model>(open_model(options.model))),
        encoder_(for_direction(*decoder_, Direction::encode)) {
    notes.add(upcast_note(encoder_, options));
  }

  void add_picture() {
    auto input = std::make_shared<Array>(read_input(options_.picture, channels()));
    const PictureSize size = encoded_size(options_.picture, size_of(*input));
    *input = crop(std::move(*input), size.extent);
    add(size, options_.output, [input] { return input; });
  }

  void add_folder(const std::vector<std::pair<fs::path, fs::path>>& pictures) {
    for (const auto& [picture, output] : pictures) {
      const Pixels head = read_pixels(picture, PixelPart::size);
      const PictureSize size = encoded_size(picture, {{1, head.rows, head.columns}});
      Job& job = add(size, output, [file = picture, size, channels = channels()] {
        return std::make_shared<const Array>(crop(read_input(file, channels), size.extent));
      });
      job.name = picture.filename().string();
      job.place = printable(picture.string());
      job.number = static_cast<int32_t>(work_.jobs.size() - 1);
    }
  }

 private:
  int64_t channels() const { return encoder_.graph.tensor(encoder_.graph.input()).channels; }

  /// The picture's size, with --crop the nearest one that has a latent. Throws InputError if it has none.
  PictureSize encoded_size(const fs::path& picture, PictureSize size) {
    const Extent nearest = cropped(size.extent, picture_scale(encoder_.graph));
    if (options_.crop && positions(nearest) > 0) {
      if (!(nearest == size.extent))
        notes_.add(picture.string() + ": cropped to " + std::to_string(nearest.x) + "x" +
                   std::to_string(nearest.y) +
                   (nearest.t > 1 ? ", " + std::to_string(nearest.t) + " frames" : ""));
      size.extent = nearest;
    }
    const std::string pixels = wrong_pixels(encoder_, size.extent.x, size.extent.y);
    std::string frames = wrong_frames(encoder_, size.extent.t);
    if (encoder_.encoded_clips && size.extent.t > 1)
      frames = "expected 1, found " + std::to_string(size.extent.t) +
               ". This class encodes parts of a clip independently, and drops latent frames: encode clips in "
               "Python, by headroom_vae.enable()";
    const std::string wrong = !pixels.empty() ? pixels : frames.empty() ? "" : "frames: " + frames;
    if (!wrong.empty())
      throw InputError(printable(picture.string()) + ": " + wrong +
                       (options_.crop ? "" : "; or give --crop"));
    return size;
  }

  /// A task for each distinct size. All encodes share one set of weights, so clips and single frames are
  /// never mixed.
  size_t task_for(const PictureSize& size) {
    const auto known = by_size_.find(size.key());
    if (known != by_size_.end()) return known->second;
    return by_size_[size.key()] = add_task(options_, encoder_, size, work_);
  }

  Job& add(const PictureSize& size, const fs::path& output,
           std::function<std::shared_ptr<const Array>()> input) {
    Job job;
    job.task = task_for(size);
    job.input = std::move(input);
    job.target.file = output;
    job.target.open = [apply_scale = scale_for(output), channels = decoder_->latent_channels](
                          const fs::path& file, const PictureShape& shape) {
      return std::make_unique<LatentSink>(shape, file, channels, apply_scale);
    };
    work_.jobs.push_back(std::move(job));
    return work_.jobs.back();
  }

  /// Gives an encoder's latent the scale of its file.
  std::function<void(Array&)> scale_for(const fs::path& output) const {
    const bool comfyui = lower_case(output.extension().string()) == ".latent";
    const bool in_comfyui = decoder_->latent_scale_in_weights || decoder_->latent_patches;
    const bool in_pipelines = options_.latent_scale == "model" && !decoder_->handed_on_unscaled;
    if (!(comfyui ? in_comfyui : in_pipelines)) return [](Array&) {};
    return [decoder = decoder_, work = &work_](Array& latent) {
      apply_latent_scale(
          *decoder, [&] { return work->weights; }, latent);
    };
  }

  const EncodeOptions& options_;
  Work& work_;
  Notes& notes_;
  const std::shared_ptr<const Model> decoder_;  ///< jobs keep it
  const Model encoder_;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> by_size_;
};

}  // namespace

Prepared prepare_encode(const EncodeOptions& options, Notes& notes) {
  Prepared prepared;
  Work& work = *prepared.work;
  // First, because nothing else is useful without it.
  work.gpu = gpu::open_gpu_for(options.device);
  EncodeJobs jobs(options, work, notes);
  prepared.subject = options.output;
  if (options.pictures.empty()) {
    jobs.add_picture();
  } else {
    size_t skipped = 0;
    work.is_list = true;
    work.called = "encodes";
    jobs.add_folder(pictures_without_latent(options.pictures, options.output, skipped));
    prepared.subject += ": " + std::to_string(work.jobs.size()) + " pictures" +
                        (skipped > 0 ? ", " + std::to_string(skipped) + " already existed" : "");
  }
  for (Task& task : work.tasks) {
    if (!task.question || work.jobs.size() < 2) continue;
    task.question->options.weights = WeightResidency::resident;  // loaded once for all pictures
    task.question->one_of_several = true;
  }
  if (!work.jobs.empty()) work.weights = open_weights(options.model, options.weights, options.random_seed);
  return prepared;
}

}  // namespace headroom
