#include "planner/decode_program/encode.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/base/printable.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/planar_sink.h"
#include "decoder/files/write_latent.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/latents/scale.h"
#include "decoder/pictures/read_picture.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/sizes.h"
#include "decoder/plan/stats_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "decoder/weights/open_weights.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/encode_input.h"
#include "planner/decode_program/encode_options.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/outputs.h"
#include "planner/program/request_options.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// One picture or clip to encode.
struct EncodeJob {
  fs::path picture, output;
  PictureSize size;  ///< after cropping
  size_t plan = 0;
};

/// Collects an encoder's output as an array, N×C×H×W, or N×C×T×H×W for several frames.
class ArrayInMemory final : public PlanarSink {
 public:
  explicit ArrayInMemory(const PictureShape& shape) : PlanarSink(shape) {
    array.shape = ArraySink::array_shape(shape);
    array.values.resize(
        static_cast<size_t>(shape.items * shape.channels * shape.frames * shape.rows * shape.columns));
  }
  Array array;

 private:
  void put_run(int64_t first, const float* values, int64_t count) override {
    std::copy_n(values, count, array.values.begin() + first);
  }
  void complete() override {}
};

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

class Encoding {
 public:
  Encoding(const EncodeOptions& options, Notes& notes)
      : options_(options),
        notes_(notes),
        decoder_(open_model(options.model)),
        encoder_(for_direction(decoder_, Direction::encode)) {}

  /// Encodes everything, and returns the statistics of the last encode with the largest peak of all.
  RunStats run() {
    // First, because nothing else is useful without it.
    gpu_ = gpu::open_gpu_for(options_.device);
    list_jobs();
    make_plans();
    start_libraries(options_.threads);
    if (!options_.other_environment) {
      for (const Plan& plan : plans_) check_environment(plan, environment_here(gpu_.get()), origin_of_plan());
    }
    return encode_all();
  }
  size_t jobs() const { return jobs_.size(); }
  size_t skipped() const { return skipped_; }

 private:
  int64_t channels() const { return encoder_.graph.tensor(encoder_.graph.input()).channels; }
  std::string origin_of_plan() const {
    return options_.plan_file.empty() ? options_.profile_file : options_.plan_file;
  }

  void list_jobs() {
    if (!options_.picture.empty()) {
      input_ = read_input(options_.picture, channels());
      add_job(options_.picture, options_.output, size_of(input_));
      return;
    }
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::directory_iterator at(options_.pictures, error), end; !error && at != end; at.increment(error)) {
      if (is_picture(at->path())) files.push_back(at->path());
    }
    if (error) throw InputError("--pictures " + printable(options_.pictures) + ": " + error.message());
    if (files.empty())
      throw InputError("--pictures " + printable(options_.pictures) +
                       ": expected .png, .jpg or .webp files, found none");
    std::sort(files.begin(), files.end());
    std::map<std::string, fs::path> by_output;
    for (const fs::path& file : files) {
      const fs::path output = fs::path(options_.output) / file.stem().concat(".safetensors");
      const auto [other, is_new] = by_output.emplace(output.string(), file);
      if (!is_new)
        throw InputError("--pictures: " + printable(file.string()) + " and " +
                         printable(other->second.string()) + " would both become " +
                         printable(output.string()));
      if (fs::exists(output)) {
        ++skipped_;
        continue;
      }
      const Pixels head = read_pixels(file, PixelPart::size);
      add_job(file, output, {{1, head.rows, head.columns}});
    }
  }

  void add_job(const fs::path& picture, const fs::path& output, PictureSize size) {
    const Extent nearest = cropped(size.extent, picture_scale(encoder_.graph));
    if (options_.crop && positions(nearest) > 0) {
      if (!(nearest == size.extent))
        notes_.add(picture.string() + ": cropped to " + std::to_string(nearest.x) + "x" +
                   std::to_string(nearest.y) +
                   (nearest.t > 1 ? ", " + std::to_string(nearest.t) + " frames" : ""));
      size.extent = nearest;
    }
    const Extent& extent = size.extent;
    const std::string pixels = wrong_pixels(encoder_, extent.x, extent.y);
    const std::string frames = wrong_frames(encoder_, extent.t);
    const std::string wrong = !pixels.empty() ? pixels : frames.empty() ? "" : "frames: " + frames;
    if (!wrong.empty())
      throw InputError(printable(picture.string()) + ": " + wrong +
                       (options_.crop ? "" : "; or give --crop"));
    jobs_.push_back({picture, output, size});
  }

  void make_plans() {
    std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> by_size;
    for (EncodeJob& job : jobs_) {
      const auto [known, is_new] = by_size.emplace(job.size.key(), plans_.size());
      job.plan = known->second;
      if (is_new) add_plan(job.size);
    }
    return_free_heap();  // the search's memory, because the limit covers the whole process
  }

  void add_plan(const PictureSize& size) {
    // All encodes share one set of weights, so clips and single frames are never mixed.
    model_ = for_frames(encoder_, size.extent.t);
    if (!options_.plan_file.empty()) {
      const PlanFile parsed(options_.plan_file);
      if (parsed.request().direction != Direction::encode)
        throw InputError(options_.plan_file +
                         ": a plan of a decode; expected one of headroom-plan --direction encode");
      plans_.push_back(parsed.plan(model_.graph));
      const DeviceKind planned = plans_.back().request.device;
      check_device(options_.device, options_.plan_file, planned);
      if (!gpu_) gpu_ = gpu::open_gpu_for(planned);
      return require_valid(plans_.back(), model_, options_.plan_file);
    }
    planner::RequestOptions asked;
    asked.model = options_.model;
    asked.direction = name_of(Direction::encode);
    asked.size = std::to_string(size.extent.x) + "x" + std::to_string(size.extent.y);
    asked.frames = size.extent.t;
    asked.batch = size.batch;
    if (!options_.dtype.empty()) asked.dtype = options_.dtype;
    asked.tf32 = options_.tf32;
    asked.profile_file = options_.profile_file;
    asked.other_environment = options_.other_environment && !options_.profile_file.empty();
    asked.scratch_folder = options_.scratch;
    asked.scratch_limit = options_.scratch_limit;
    asked.device = name_of(kind_of(gpu_.get()));
    planner::PlanOptions wanted = asked.plan_options();
    wanted.limit_bytes = limit_in_bytes(options_.limit, gpu_.get());
    if (jobs_.size() > 1) wanted.weights = WeightResidency::resident;  // loaded once for all
    plans_.push_back(asked.plan(model_, wanted));
    require_valid(plans_.back(), model_, "--limit");
  }

  RunStats encode_all() {
    RunStats total;
    if (jobs_.empty()) return total;
    const ParameterSource weights = open_weights(options_.model, options_.weights, options_.random_seed);
    int64_t limit = 0, reserve = 0, goal = 0;
    for (const Plan& plan : plans_) {
      limit = std::max(limit, plan.limit_bytes);
      reserve = std::max(reserve, plan.reserve_bytes);
      goal = std::max(goal, plan.predicted_peak_bytes - plan.reserve_bytes);
    }
    RunBegun news = begun("headroom-decode", plans_.front());
    news.output = options_.output;
    news.decodes = static_cast<int64_t>(jobs_.size());
    notes_.tell(news);
    ProgressEvents events(notes_, nullptr, &model_.graph);
    const std::unique_ptr<Session> session = open_session(
        {model_, weights, plans_, limit - reserve, goal, [&](double share) { events.loading(share); }},
        gpu_.get());
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const double count = double(jobs_.size());
      notes_.tell(DecodeStarted{static_cast<int64_t>(i), static_cast<int64_t>(jobs_.size()),
                                jobs_[i].picture.filename().string()});
      events.start_part(double(i) / count, double(i + 1) / count);
      const RunStats stats = encode_one(jobs_[i], *session, events, weights);
      const int64_t peak = std::max(total.peak_bytes, stats.peak_bytes);
      const double seconds = total.seconds + stats.seconds;
      total = stats;
      total.peak_bytes = peak;
      total.seconds = seconds;
      total.predicted_peak_bytes = goal + reserve;
      return_free_heap();
    }
    return total;
  }

  RunStats encode_one(const EncodeJob& job, Session& session, ProgressEvents& events,
                      const ParameterSource& weights) {
    const Plan& plan = plans_[job.plan];
    Array picture = options_.pictures.empty() ? std::move(input_) : read_input(job.picture, channels());
    picture = crop(picture, job.size.extent);
    ArrayInMemory sink(picture_shape(model_.graph, plan.request));
    RunStats stats = session.decode(job.plan, picture, sink, &events);
    sink.finish();
    Array latent = means_of(sink.array, decoder_.latent_channels);
    const bool comfyui = lower_case(job.output.extension().string()) == ".latent";
    const bool in_comfyui = decoder_.latent_scale_in_weights || decoder_.latent_patches;
    const bool in_pipelines = options_.latent_scale == "model" && !decoder_.handed_on_unscaled;
    if (comfyui ? in_comfyui : in_pipelines)
      apply_latent_scale(
          decoder_, [&] { return weights; }, latent);
    write_latent(job.output, latent);
    return stats;
  }

  const EncodeOptions& options_;
  Notes& notes_;
  const Model decoder_, encoder_;
  std::unique_ptr<gpu::Gpu> gpu_;  ///< null: the CPU
  Model model_;                    ///< the encoder for the jobs' frames
  Array input_;                    ///< of a single job
  std::vector<EncodeJob> jobs_;
  std::vector<Plan> plans_;
  size_t skipped_ = 0;
};

MadeFolders prepare(const EncodeOptions& options) {
  std::vector<NamedFile> outputs{{"--stats", options.stats_file}, {"--json", options.json ? "-" : ""}};
  if (options.pictures.empty()) outputs.push_back({"-o", options.output});
  return prepare_outputs(outputs, {{"--picture", latent_file_of(options.picture)},
                                   {"--plan", options.plan_file},
                                   {"--profile", options.profile_file},
                                   {"--model", options.model},
                                   {"--weights", options.weights}});
}

}  // namespace

int run_encode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::unique_ptr<Progress> progress;
  RunEnded ended;
  ended.exit_code = guarded("headroom-decode", out, err, [&] {
    const std::optional<EncodeOptions> parsed = parse_encode_options(args, out);
    if (!parsed) return static_cast<int>(kDone);
    const EncodeOptions& options = *parsed;
    const MadeFolders for_files = prepare(options);
    MadeFolders for_latents;
    if (!options.pictures.empty()) {
      if (const std::error_code error = for_latents.make(options.output))
        throw InputError("-o " + printable(options.output) + ": " + error.message());
    }
    progress = make_progress(options.progress, err);
    const WipedProgress wiped(*progress);
    Notes notes(*progress, err);
    Encoding encoding(options, notes);
    const RunStats stats = encoding.run();
    notes.say();
    if (!options.stats_file.empty()) write_stats(options.stats_file, stats);
    progress->wipe();
    if (options.json) {
      out << to_json(stats).dump(2) << "\n";
    } else {
      const std::string many =
          std::to_string(encoding.jobs()) + " pictures" +
          (encoding.skipped() > 0 ? ", " + std::to_string(encoding.skipped()) + " already existed" : "");
      const std::string what = options.pictures.empty() ? options.output : options.output + ": " + many;
      if (encoding.jobs() == 0) {
        out << one_line(what) << "\n";
      } else {
        print_summary(stats, what, out);
      }
    }
    ended.peak_bytes = stats.peak_bytes;
    ended.decode_seconds = stats.seconds;
    return static_cast<int>(kDone);
  });
  if (progress) progress->tell(ended);
  return ended.exit_code;
}

}  // namespace headroom
