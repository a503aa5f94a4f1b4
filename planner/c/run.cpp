#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/latent_file.h"
#include "decoder/graph/geometry.h"
#include "decoder/session/picture_shape.h"
#include "decoder/weights/open_model.h"
#include "planner/c/asked.h"
#include "planner/c/guard.h"
#include "planner/c/headroom.h"
#include "planner/run/runner.h"

namespace headroom::planner {
namespace {

/// Passes the share that is done to the caller's function, which can end the run.
class ToldShare final : public Progress {
 public:
  explicit ToldShare(const headroom_job& job) : job_(job) {}

  void tell(const ProgressNews& news) override {
    std::optional<double> share;
    if (const auto* tile = std::get_if<TileDone>(&news)) share = tile->share;
    if (const auto* steps = std::get_if<StepsDone>(&news)) share = steps->share;
    if (share && job_.progress != nullptr && job_.progress(job_.context, *share) != 0) throw Stopped();
  }

 private:
  const headroom_job& job_;
};

/// Writes regions into the caller's memory, N×C×T×H×W.
class MemorySink final : public PlanarSink {
 public:
  MemorySink(const PictureShape& shape, const headroom_job& job) : PlanarSink(shape), job_(job) {}

 private:
  void put_run(int64_t first, const float* values, int64_t count) override {
    std::copy_n(values, count, job_.output + first);
  }
  void end_region(int64_t item, const Region& region) override {
    if (job_.region == nullptr) return;
    const headroom_region done{item,         region.t.begin, region.t.end, region.y.begin,
                               region.y.end, region.x.begin, region.x.end};
    job_.region(job_.context, &done);
  }
  void complete() override {}

  const headroom_job& job_;
};

/// N, C, T, H, W of a job's input.
std::vector<int64_t> shape_of_input(const Asked& asked) {
  const Request& request = asked.question.request;
  const Extent extent =
      latent_extent(asked.model, request.width_pixels, request.height_pixels, request.frames);
  std::vector<int64_t> shape = input_shape(asked.model, extent, request.batch);
  if (shape.size() == 4) shape.insert(shape.begin() + 2, 1);
  return shape;
}

Array input_of(const headroom_job& job, const Asked& asked) {
  if ((job.input == nullptr) == (job.input_file == nullptr))
    throw InputError("input, input_file: expected one of both");
  if (job.input_file != nullptr) {
    if (asked.model.graph.encodes()) throw InputError("input_file: not for an encode; expected input");
    return with_batch_axis(asked.model, read_latent(job.input_file));
  }
  Array array{.shape = shape_of_input(asked), .values = {}};
  int64_t count = 1;
  for (const int64_t length : array.shape) count *= length;
  array.values.assign(job.input, job.input + count);
  return array;
}

int run_job(const headroom_job* job, const char* direction, headroom_result* result, char* message,
            size_t message_bytes) {
  return guarded(message, message_bytes, [&] {
    require(job, "job");
    require(job->output, "output");
    headroom_question given = job->question;
    if (given.direction != nullptr && std::string(given.direction) != direction)
      throw InputError(std::string("direction: expected ") + direction + " or NULL, found " +
                       given.direction);
    given.direction = direction;
    if (job->threads < 0)
      throw InputError("threads: expected 0 or more, found " + std::to_string(job->threads));
    Asked asked(given);
    const bool is_text = given.model[0] == '{';
    if (is_text && job->weights == nullptr)
      throw InputError("weights: expected a file or folder, because the model is a text");

    Work work;
    work.weights = open_weights(is_text ? "" : given.model, or_else(job->weights, ""), std::nullopt);
    work.tasks.push_back({.origin = "limit_bytes", .question = asked.question});
    Job one;
    one.input = [input = std::make_shared<const Array>(input_of(*job, asked))] { return input; };
    one.target.open = [job](const std::filesystem::path&, const PictureShape& shape) {
      return std::make_unique<MemorySink>(shape, *job);
    };
    work.jobs.push_back(std::move(one));
    work.model = std::move(asked.model);

    static std::mutex one_at_a_time;  // a run's limit counts the growth of the whole process
    const std::lock_guard lock(one_at_a_time);
    ToldShare progress(*job);
    const RunStats stats = headroom::run(work, {.threads = job->threads}, progress);
    if (result != nullptr)
      *result = {stats.peak_bytes, stats.predicted_peak_bytes, stats.seconds, stats.predicted_seconds};
  });
}

}  // namespace
}  // namespace headroom::planner

using namespace headroom;
using namespace headroom::planner;

int headroom_shapes(const headroom_question* question, int64_t input_shape[5], int64_t output_shape[5],
                    char* message, size_t message_bytes) {
  return guarded(message, message_bytes, [&] {
    require(question, "question");
    require(input_shape, "input_shape");
    require(output_shape, "output_shape");
    const Asked asked(*question);
    const std::vector<int64_t> input = shape_of_input(asked);
    const PictureShape output = picture_shape(asked.model.graph, asked.question.request);
    std::copy(input.begin(), input.end(), input_shape);
    const int64_t made[5] = {output.items, output.channels, output.frames, output.rows, output.columns};
    std::copy(made, made + 5, output_shape);
  });
}

int headroom_decode(const headroom_job* job, headroom_result* result, char* message, size_t message_bytes) {
  return run_job(job, "decode", result, message, message_bytes);
}

int headroom_encode(const headroom_job* job, headroom_result* result, char* message, size_t message_bytes) {
  return run_job(job, "encode", result, message, message_bytes);
}
