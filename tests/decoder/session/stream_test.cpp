#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "decoder/base/errors.h"
#include "decoder/session/cpu_streams.h"
#include "planner/cost/cost_model.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/random_plan.h"
#include "tests/support/streamed.h"
#include "tests/support/tiny_encoders.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::frames_of;
using test::push;
using test::push_nowhere;
using test::Random;
using test::Streamed;
using test::streamed;

StreamPlan stream_plan(const Model& model, Plan plan, int64_t block) {
  const MemoryModel memory = planner::CostModel(model.graph).memory();
  return {plan, block, stream_memory(model, plan, block, memory)};
}

/// A drawn plan of a drawn request, in drawn blocks, equals the plan's own decode of the whole clip.
void check_drawn(const Model& of_class, Random& random, uint64_t seed) {
  if (!of_class.decodes_clips) return;
  const auto model = std::make_shared<const Model>(of_class);
  CAPTURE(model->class_name, seed);
  const Extent latent{random.integer(2, 9), random.integer(1, 6), random.integer(1, 6)};
  const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, Dtype::bf16});
  const Request request = test::request_for(*model, latent, random.integer(1, 2), dtype);
  MemoryModel memory = planner::CostModel(model->graph).memory();
  memory.block_bytes = random.pick<int64_t>({1, 700, 17'000, int64_t{4} << 20});
  test::RandomStyle style;
  style.keep = random.pick<double>({0, 0.3, 0.9});
  style.untiled_frames = 0.5;
  PlanConfiguration configuration;
  configuration.weights = WeightResidency::resident;
  const int64_t micro_batch = random.integer(1, request.batch);
  const Plan plan = test::unlimited(
      test::random_plan(*model, request, micro_batch, style, memory, random, {}, configuration).plan);
  const Array input = test::latent_for(*model, request, seed);
  const auto source = test::random_source(seed);
  const Array whole = test::decode_to_memory(*model, plan, source, input).picture;
  const int64_t block = random.integer(1, 4);
  const auto streams = std::make_shared<CpuStreams>(model, source);
  const StreamPlan planned = stream_plan(*model, plan, block);
  auto stream = streams->open(planned);
  const auto next = [&](int64_t taken) { return std::min(input.shape[2] - taken, random.integer(1, 5)); };
  // Another process goes on with the state, with weights of its own.
  const auto between = [&](std::unique_ptr<OpenStream>& running) {
    if (random.chance(0.3))
      running = std::make_shared<CpuStreams>(model, source)->open(planned, running->state());
  };
  const Streamed found = streamed(stream, *model, request, input, next, between);
  CAPTURE(block, micro_batch, latent.t, request.batch);
  CHECK(found.clip.values == whole.values);
  CHECK(found.peak_bytes <= planned.memory.peak_bytes);
  CHECK(found.state_bytes <= planned.memory.state_bytes);
}

void check_drawn_classes(uint64_t begin, uint64_t end) {
  start_libraries(2);
  for (uint64_t seed = begin; seed < end; ++seed) {
    Random random(seed + 7300);
    check_drawn(test::model_of(test::random_wan_config(random)), random, seed);
    check_drawn(test::model_of(test::random_wan_22_config(random)), random, seed);
    check_drawn(test::model_of(test::random_taehv_config(random)), random, seed);
    check_drawn(test::model_of(test::random_seedvr2_config(random)), random, seed);
    check_drawn(test::model_of(test::random_ltx_video_config(random)), random, seed);
    check_drawn(test::random_wan_encoder(random).model, random, seed);
    check_drawn(test::random_wan_22_encoder(random).model, random, seed);
    check_drawn(test::random_ltx_video_encoder(random).model, random, seed);
    check_drawn(test::random_ltx2_encoder(random).model, random, seed);
  }
}

TEST_CASE("a clip in drawn blocks equals the whole clip for each class that can run block by block") {
  check_drawn_classes(0, 8);
}

TEST_CASE("many clips in drawn blocks equal the whole clips", "[long]") {
  check_drawn_classes(8, 100);
}

/// A stream of a small Wan, a request of a clip of it, and the clip.
struct TinyStream {
  std::shared_ptr<const Model> model = std::make_shared<const Model>(test::model_of(test::tiny_wan_config()));
  Request request = test::request_for(*model, {7, 4, 5});
  Array input = test::latent_for(*model, request, 3);
  ParameterSource source = test::random_source(3);
  StreamPlan plan =
      stream_plan(*model, test::unlimited(untiled_plan(*model, request, ConvolutionAlgorithm::direct)), 2);
  std::shared_ptr<CpuStreams> streams;

  TinyStream() {
    start_libraries(2);
    streams = std::make_shared<CpuStreams>(model, source);
  }
  std::unique_ptr<OpenStream> open() const { return streams->open(plan); }
  Array whole() const { return test::decode_to_memory(*model, plan.plan, source, input).picture; }
};

TEST_CASE("state and peak of a stream are known before its first block") {
  const TinyStream tiny;
  auto stream = tiny.open();
  const Streamed found = streamed(stream, *tiny.model, tiny.request, tiny.input, [&](int64_t taken) {
    return std::min<int64_t>(2, tiny.input.shape[2] - taken);
  });
  CHECK(found.clip.values == tiny.whole().values);
  CHECK(found.peak_bytes == tiny.plan.memory.peak_bytes);
  CHECK(found.state_bytes == tiny.plan.memory.state_bytes);
  CHECK(found.state_bytes > 0);
  CHECK(stream->state_bytes() == 0);
  CHECK(found.made == std::vector<int64_t>{3, 4, 4, 2, 0});
}

TEST_CASE("the first frames of a class that reads frames ahead come later by its delay") {
  start_libraries(2);
  const auto model = std::make_shared<const Model>(test::model_of(test::tiny_ltx2_video_config()));
  const Request request = test::request_for(*model, {9, 3, 4});
  const Array input = test::latent_for(*model, request, 3);
  const StreamPlan plan =
      stream_plan(*model, test::unlimited(untiled_plan(*model, request, ConvolutionAlgorithm::direct)), 1);
  auto stream = std::make_shared<CpuStreams>(model, test::random_source(3))->open(plan);
  const Streamed found = streamed(stream, *model, request, input, [&](int64_t taken) {
    return std::min<int64_t>(1, input.shape[2] - taken);
  });
  CHECK(plan.memory.delay_frames > 0);
  CHECK(found.made.back() == plan.memory.delay_frames);
  CHECK(found.made.front() == 0);
}

TEST_CASE("memory of a stream does not grow with the clip") {
  const TinyStream tiny;
  const auto stream = tiny.open();
  const Array frame = frames_of(tiny.input, {0, 1});
  push_nowhere(*stream, frames_of(tiny.input, {0, 3}));
  const int64_t state = stream->state_bytes(), peak = stream->measured_peak_bytes();
  for (int64_t i = 0; i < 300; ++i) {
    push_nowhere(*stream, frame);
    REQUIRE(stream->state_bytes() == state);
  }
  CHECK(stream->measured_peak_bytes() == peak);
}

TEST_CASE("streams of one model share weights under one limit, and one more is refused") {
  TinyStream tiny;
  constexpr int64_t kStreams = 5;
  const StreamMemory& memory = tiny.plan.memory;
  tiny.plan.plan.limit_bytes =
      memory.peak_bytes + tiny.plan.plan.reserve_bytes + (kStreams - 1) * memory.state_bytes;
  std::vector<std::unique_ptr<OpenStream>> open;
  for (int64_t i = 0; i < kStreams; ++i) open.push_back(tiny.open());
  CHECK_THROWS_WITH(tiny.open(), Catch::Contains("expected at most 5 streams"));
  const Array whole = tiny.whole();
  const PictureShape shape = test::picture_shape(*tiny.model, tiny.request);
  std::vector<std::unique_ptr<test::MemorySink>> clips;
  for (int64_t i = 0; i < kStreams; ++i) clips.push_back(std::make_unique<test::MemorySink>(shape));
  std::vector<int64_t> taken(kStreams, 0), made(kStreams, 0);
  Random random(11);
  for (int64_t left = kStreams; left > 0;) {
    const auto i = static_cast<size_t>(random.integer(0, kStreams - 1));
    if (open[i]->ended()) continue;
    const int64_t frames = std::min(tiny.input.shape[2] - taken[i], random.integer(1, 3));
    const int64_t ready = push(*open[i], tiny.input, {taken[i], taken[i] + frames}, *clips[i], made[i]);
    CHECK(tiny.streams->live_bytes() <= tiny.plan.plan.limit_bytes);
    taken[i] += frames;
    made[i] += ready;
    if (frames == 0) --left;
  }
  for (const auto& clip : clips) CHECK(clip->picture.values == whole.values);
  open.pop_back();
  CHECK_NOTHROW(tiny.open());
}

TEST_CASE("bytes that are no state of the plan are refused") {
  const TinyStream tiny;
  const auto stream = tiny.open();
  push_nowhere(*stream, frames_of(tiny.input, {0, 3}));
  const std::vector<std::byte> state = stream->state();
  CHECK_NOTHROW(tiny.streams->open(tiny.plan, state));
  for (size_t bytes : {size_t{1}, size_t{8}, state.size() / 2, state.size() - 1})
    CHECK_THROWS_WITH(tiny.streams->open(tiny.plan, std::span(state).first(bytes)),
                      "state: ends too early; expected what state() of a stream returned");
  std::vector<std::byte> longer = state;
  longer.resize(state.size() + 4);
  CHECK_THROWS_WITH(tiny.streams->open(tiny.plan, longer), Catch::Contains("has 4 bytes too many"));
  for (size_t byte = 0; byte < 24; ++byte) {  // frames taken, and frames that the first passes have done
    std::vector<std::byte> other = state;
    other[byte] ^= std::byte{0x11};
    CHECK_THROWS_AS(tiny.streams->open(tiny.plan, other), InputError);
  }
  CHECK(tiny.streams->open_streams() == 1);
  CHECK(tiny.streams->live_bytes() == tiny.plan.memory.weights_bytes + stream->state_bytes());
  push_nowhere(*stream, frames_of(tiny.input, {3, 3}), true);
  CHECK_THROWS_WITH(stream->state(), Catch::Contains("has no state"));
}

TEST_CASE("a block of another shape is refused, and the stream goes on until it ends") {
  const TinyStream tiny;
  const auto stream = tiny.open();
  push_nowhere(*stream, frames_of(tiny.input, {0, 2}));
  const Array other{{1, 4, 1, 4, 4}, std::vector<float>(64)};
  CHECK_THROWS_WITH(push_nowhere(*stream, other),
                    "block: expected shape 1x4x1x4x5 with any number of frames, found 1x4x1x4x4");
  CHECK_NOTHROW(push_nowhere(*stream, frames_of(tiny.input, {2, 3}), true));
  CHECK_THROWS_WITH(push_nowhere(*stream, frames_of(tiny.input, {3, 4})), Catch::Contains("has ended"));
}

TEST_CASE("two threads in one stream are refused") {
  const TinyStream tiny;
  const auto stream = tiny.open();
  /// Pushes to the same stream from another thread while a block runs.
  class Pushing final : public PictureSink {
   public:
    Pushing(OpenStream& stream, const Array& block)
        : PictureSink({1, 3, 64, 64, 64}), stream_(stream), block_(block) {}
    std::string refused;

   private:
    void put(int64_t, const Region&, const float*) override {
      std::thread([this] {
        try {
          push_nowhere(stream_, block_);
        } catch (const InputError& error) {
          refused = error.what();
        }
      }).join();
    }
    void complete() override {}
    OpenStream& stream_;
    const Array& block_;
  };
  const Array block = frames_of(tiny.input, {0, 1});
  Pushing sink(*stream, block);
  stream->push(block, false, [&](const PictureShape&) -> PictureSink& { return sink; });
  CHECK_THAT(sink.refused, Catch::Contains("one thread at a time"));
  CHECK_FALSE(stream->ended());
}

TEST_CASE("classes that need the whole clip say why they cannot run block by block") {
  const auto why = [](const nlohmann::json& config) { return why_no_stream(test::model_of(config)); };
  CHECK_THAT(why(test::tiny_hunyuan_video_config()),
             Catch::Contains("takes the mean and deviation of the whole clip"));
  CHECK_THAT(why(test::tiny_hunyuan_video_15_config()), Catch::Contains("attends to all earlier frames"));
  CHECK_THAT(why(test::tiny_hunyuan_image_refiner_config()),
             Catch::Contains("attends to frames of the whole clip"));
  CHECK_THAT(why(test::tiny_causal_config()), Catch::Contains("of the whole clip"));
  CHECK_THAT(why(test::tiny_temporal_decoder_config()), Catch::Contains("of the whole clip"));
  CHECK_THAT(why(test::tiny_config()), Catch::Contains("single pictures"));
  CHECK(why(test::tiny_seedvr2_config()).empty());
}

}  // namespace
}  // namespace headroom
