#include <catch2/catch.hpp>
#include <optional>

#include "decoder/gpu/kernels/kernels.h"
#include "decoder/graph/graph.h"
#include "tests/decoder/gpu/kernels/map.h"
#include "tests/support/activated.h"
#include "tests/support/sanitized.h"

// Kernels that move values: each against a plain loop over positions.
namespace headroom::gpu {
namespace {

using namespace test;
using headroom::test::activated;
using headroom::test::any_activation;
using Value = std::optional<double>;

TEST_CASE("gather: all of a tile, zero outside the picture") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  const Size picture = picture_near(random, box);
  Map source{random, around(random, within(box, picture)), channels, any_dtype(random)};
  Map target(random, box, channels, any_dtype(random));
  const Map before = target;
  start(Gather{.source = source.view(), .target = target.view(), .picture = picture}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> Value {
          return in_picture(at, picture) ? source.at(at) : 0.0;
        }) == "");
}

TEST_CASE("copy: a region that both hold") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) {
          return has(box, at) ? Value(source.at(at)) : std::nullopt;
        }) == "");
}

TEST_CASE("copy: what is not a number stays none, what is too large becomes infinite") {
  Random random(3);
  const Box box{{0, 1}, {0, 1}, {0, 2}};
  for (const int32_t channels : {3, 8}) {
    for (const Dtype from : {Dtype::fp32, Dtype::bf16}) {
      for (const Dtype to : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
        Map source(random, box, channels, from), target(random, box, channels, to);
        source.set({0, 0, 0, 1}, NAN);
        source.set({0, 0, 1, 0}, INFINITY);
        source.set({0, 0, 1, 2}, 1e6f);
        start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
        CHECK(std::isnan(target.at({0, 0, 0, 1})));
        CHECK(target.at({0, 0, 1, 0}) == INFINITY);
        CHECK(std::isinf(target.at({0, 0, 1, 2})) == (to == Dtype::fp16));
      }
    }
  }
}

TEST_CASE("add: onto a region, activated") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  Map source{random, around(random, box), channels, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Activation activation = random.chance(0.5) ? Activation::none : any_activation(random);
  const Map before = target;
  start(Add{.source = source.view(), .target = target.view(), .activation = activation, .region = box},
        nullptr);
  CHECK(difference(before, target, activation == Activation::none ? 1e-7 : 2e-6, [&](const Position& at) {
          return has(box, at) ? Value(activated(activation, double(before.at(at)) + double(source.at(at))))
                              : std::nullopt;
        }) == "");
}

TEST_CASE("upsample: all of a tile, zero outside the picture") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const auto factor = [&] { return static_cast<int32_t>(random.integer(1, 3)); };
  const int32_t channels = any_channels(random), factor_y = factor(), factor_x = factor();
  const Box box = any_box(random, channels);
  const Size picture = picture_near(random, box);
  Box read = within(box, picture);
  read.y = {read.y.begin / factor_y, (read.y.end - 1) / factor_y + 1};
  read.x = {read.x.begin / factor_x, (read.x.end - 1) / factor_x + 1};
  Map source{random, around(random, read), channels, any_dtype(random)};
  Map target(random, box, channels, any_dtype(random));
  const Map before = target;
  start(Upsample{.source = source.view(),
                 .target = target.view(),
                 .factor_y = factor_y,
                 .factor_x = factor_x,
                 .picture = picture},
        nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> Value {
          return in_picture(at, picture) ? source.at({at.t, at.y / factor_y, at.x / factor_x, at.c}) : 0.0;
        }) == "");
}

TEST_CASE("depth to space of several frames, and of channels that are repeated, in any order") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{160}, headroom::test::kSeedStep));
  const DepthOrder order =
      GENERATE(DepthOrder::channel_first, DepthOrder::pixel_first, DepthOrder::frame_within_pixel);
  const bool by_pixel = order == DepthOrder::pixel_first;
  CAPTURE(seed, order);
  Random random(seed);
  const int32_t in_depth = random.pick<int32_t>({1, 2, 3}), factor_t = random.chance(0.7) ? in_depth : 1;
  const int32_t factor_y = random.pick<int32_t>({2, 2, 1, 3}), factor_x = random.pick<int32_t>({2, 2, 3});
  const int32_t of_frame = factor_y * factor_x, pixels = in_depth * of_frame;
  const int32_t repeats = random.pick<int32_t>(by_pixel ? std::vector<int32_t>{1, 1, in_depth, 2 * in_depth}
                                                        : std::vector<int32_t>{1, 2, pixels});
  const int32_t channels =
      repeats * static_cast<int32_t>(random.chance(0.1) ? random.integer(250, 600) : random.integer(1, 12));
  const auto inside = [&](int32_t most) {
    const auto begin = static_cast<int32_t>(random.integer(0, 4));
    return Span{begin, begin + static_cast<int32_t>(random.integer(1, most))};
  };
  // If all outputs are one frame, there is no other.
  const Span several{inside(5)}, of_target = factor_t == in_depth ? several : Span{0, 1};
  const Box box{of_target, inside(9), inside(9)};
  const auto frame_of = [&](int32_t t) { return t == 0 ? 0 : (t - 1) / factor_t + 1; };
  const Box read{{frame_of(box.t.begin), frame_of(box.t.end - 1) + 1},
                 {box.y.begin / factor_y, (box.y.end - 1) / factor_y + 1},
                 {box.x.begin / factor_x, (box.x.end - 1) / factor_x + 1}};
  const int32_t inputs = channels * pixels / repeats;
  Map source{random, around(random, read), inputs, any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  DepthLayout of_first{pixels - of_frame, 1, pixels, repeats}, of_later{0, 1, pixels, repeats};
  int32_t frame_step = of_frame;
  if (by_pixel) {
    // The first frame has all channels of one frame's pixels.
    of_first = {0, std::max(inputs / of_frame, channels), 1, std::max(1, channels * of_frame / inputs)};
    of_later = {0, channels, 1, repeats};
    frame_step = of_frame * channels;
  } else if (order == DepthOrder::frame_within_pixel) {
    of_first = of_later = {0, in_depth * channels, 1, repeats};
    frame_step = channels;
  }
  start(DepthToSpace{.source = source.view(),
                     .target = target.view(),
                     .factor_t = factor_t,
                     .factor_y = factor_y,
                     .factor_x = factor_x,
                     .first = of_first,
                     .later = factor_t == 1 ? of_first : of_later,
                     .frame_step = factor_t == 1 ? 0 : frame_step,
                     .region = box},
        nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          const bool first = at.t == 0 || factor_t == 1;
          const int32_t phase = at.y % factor_y * factor_x + at.x % factor_x;
          const int32_t later = first ? 0 : (at.t - 1) % factor_t;
          int32_t channel = (at.c * pixels + (first ? in_depth - 1 : later) * of_frame + phase) / repeats;
          if (by_pixel) {
            const int32_t of_pixel = inputs / (first ? of_frame : pixels);
            channel = (later * of_frame + phase) * of_pixel;
            channel += of_pixel < channels ? at.c / (channels / of_pixel) : at.c;
          }
          if (order == DepthOrder::frame_within_pixel)
            channel = ((phase * in_depth + later) * channels + at.c) / repeats;
          return source.at({frame_of(at.t), at.y / factor_y, at.x / factor_x, channel});
        }) == "");
}

TEST_CASE("space to depth: pixels and frames become channels, and means of neighbours") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{120}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const auto order =
      random.pick<FoldOrder>({FoldOrder::channel_frame_row_column, FoldOrder::channel_column_row,
                              FoldOrder::frame_row_column_channel});
  const auto of_first = random.pick<FoldFirst>({FoldFirst::zeros, FoldFirst::twice, FoldFirst::alone});
  const int32_t frames = random.pick<int32_t>({1, 2, 3}), stride_t = random.pick<int32_t>({1, frames});
  const int32_t rows = random.pick<int32_t>({1, 2, 2, 3}), columns = random.pick<int32_t>({1, 2, 2, 3});
  const int32_t pixels = rows * columns;
  const int32_t inputs =
      static_cast<int32_t>(random.chance(0.1) ? random.integer(100, 200) : random.integer(1, 12));
  // A divisor of the channels of one frame, so that frame 0 alone has whole groups too.
  const int32_t group = random.pick<int32_t>({1, inputs, pixels, inputs * pixels});
  const int32_t outputs = inputs * pixels / group;
  const auto inside = [&](int32_t most) {
    const auto begin = static_cast<int32_t>(random.integer(0, 4));
    return Span{begin, begin + static_cast<int32_t>(random.integer(1, most))};
  };
  const Box box{inside(3), inside(5), inside(outputs > 100 ? 3 : 20)};
  const auto first_of = [&](int32_t t) { return t == 0 ? 0 : (t - 1) * stride_t + 1; };
  const Box read{{first_of(box.t.begin), first_of(box.t.end)},
                 {box.y.begin * rows, box.y.end * rows},
                 {box.x.begin * columns, box.x.end * columns}};
  Map source{random, around(random, read), inputs, any_dtype(random)};
  Map target{random, around(random, box), outputs, any_dtype(random)};
  const Map before = target;
  const bool by_pixel = order == FoldOrder::frame_row_column_channel;
  const auto steps = [&](bool first) {
    FoldSteps fold;
    fold.frames = first && of_first == FoldFirst::alone ? 1 : frames;
    fold.zeros = first && of_first == FoldFirst::zeros ? frames - 1 : 0;
    const int32_t unit = by_pixel ? inputs : 1;
    fold.channel_step = by_pixel ? 1 : fold.frames * pixels;
    fold.frame_step = pixels * unit;
    fold.row_step = order == FoldOrder::channel_column_row ? 1 : columns * unit;
    fold.column_step = order == FoldOrder::channel_column_row ? rows : unit;
    fold.group = group * fold.frames;
    return fold;
  };
  start(SpaceToDepth{.source = source.view(),
                     .target = target.view(),
                     .stride_t = stride_t,
                     .stride_y = rows,
                     .stride_x = columns,
                     .first = steps(true),
                     .later = steps(false),
                     .region = box},
        nullptr);
  CHECK(difference(before, target, 1e-6, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          const bool first = at.t == 0 || stride_t == 1;
          const int32_t taken = first && of_first == FoldFirst::alone ? 1 : frames;
          const int32_t all = taken * pixels;
          double sum = 0;
          for (int32_t i = at.c * group * taken; i < (at.c + 1) * group * taken; ++i) {
            const int32_t channel = by_pixel ? i % inputs : i / all, pixel = by_pixel ? i / inputs : i % all;
            const int32_t frame = pixel / pixels, place = pixel % pixels;
            const bool column_first = order == FoldOrder::channel_column_row;
            const int32_t row = column_first ? place % rows : place / columns,
                          column = column_first ? place / rows : place % columns;
            if (first && of_first == FoldFirst::zeros && frame + 1 < taken) continue;
            sum += source.at(
                {first ? at.t : first_of(at.t) + frame, at.y * rows + row, at.x * columns + column, channel});
          }
          return sum / (group * taken);
        }) == "");
}

TEST_CASE("interleave: four phases become a picture") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{80}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Box box = any_box(random, channels);
  const auto floor_half = [](int32_t value) { return (value - (value & 1)) / 2; };
  const auto coarse_of = [&](const Span& span) {
    return Span{floor_half(span.begin), floor_half(span.end - 1) + 1};
  };
  Box coarse = around(random, Box{box.t, coarse_of(box.y), coarse_of(box.x)});
  coarse.t = box.t;
  const Dtype dtype = any_dtype(random);
  // The phases as one block that has phase after phase as frames.
  const int32_t count = box.t.end - box.t.begin;
  Map phases(random, {{0, 4 * count}, coarse.y, coarse.x}, channels, dtype, true);
  Map target(random, around(random, box), channels, dtype);
  const Map before = target;
  const View view = phases.view();
  start(Interleave{.phases = view.base + view.block_units[0] * kBlockUnit,
                   .coarse = coarse,
                   .target = target.view(),
                   .region = box},
        nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          const int32_t phase = (at.y & 1) * 2 + (at.x & 1);
          return phases.at({phase * count + at.t - box.t.begin, floor_half(at.y), floor_half(at.x), at.c});
        }) == "");
}

TEST_CASE("unfold frames: the first, then two for each") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{80}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  Box box = any_box(random, channels);
  box.t.end += static_cast<int32_t>(random.integer(0, 3));
  const Dtype dtype = any_dtype(random);
  Map first(random, around(random, Box{{0, 2}, box.y, box.x}), channels, dtype);
  Map rest{random, around(random, Box{{(box.t.begin + 1) / 2, box.t.end / 2 + 1}, box.y, box.x}),
           2 * channels, random.chance(0.9) ? dtype : any_dtype(random)};
  Map target{random, around(random, box), channels, any_dtype(random)};
  const Map before = target;
  start(UnfoldFrames{.first = first.view(), .rest = rest.view(), .target = target.view(), .region = box},
        nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) -> Value {
          if (!has(box, at)) return std::nullopt;
          if (at.t == 0) return first.at(at);
          return rest.at({(at.t + 1) / 2, at.y, at.x, at.t % 2 == 1 ? at.c : at.c + channels});
        }) == "");
}

TEST_CASE("a region of more rows than a grid has") {
  Random random(8);
  const Box box{{0, 1}, {0, 70000}, {0, 1}};
  Map source(random, box, 1, Dtype::fp32, true), target(random, box, 1, Dtype::fp16, true);
  const Map before = target;
  start(Copy{.source = source.view(), .target = target.view(), .region = box}, nullptr);
  CHECK(difference(before, target, 0, [&](const Position& at) { return Value(source.at(at)); }) == "");
}

TEST_CASE("fill outside with zeros: what lies beyond the picture, nothing else") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{80}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  // Wholly outside now and then.
  const Box box{frames(random), span(random, most_rows(channels), 12),
                span(random, most_columns(channels), 12)};
  const Size picture = picture_near(random, box);
  Map tile(random, box, channels, any_dtype(random));
  const Map before = tile;
  start(FillOutside{.tile = tile.view(), .edges = Edges::zeros, .picture = picture}, nullptr);
  CHECK(difference(before, tile, 0, [&](const Position& at) {
          return in_picture(at, picture) ? std::nullopt : Value(0.0);
        }) == "");
}

/// Goes from `at` to a position inside, one after another: to the outermost one, or to and fro.
int32_t walked(Edges edges, int32_t at, int32_t size) {
  if (edges == Edges::replicate) return at < 0 ? 0 : at < size ? at : size - 1;
  int32_t position = 0, step = 1;
  for (int32_t left = std::abs(at); left > 0 && size > 1; --left) {
    if (position + step < 0 || position + step >= size) step = -step;
    position += step;
  }
  return position;
}

TEST_CASE("fill outside with copies: of positions inside, nothing else") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{160}, headroom::test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const int32_t channels = any_channels(random);
  const Edges edges = random.pick<Edges>({Edges::replicate, Edges::reflect});
  // A picture with so many positions beside it as a kernel reads; of a wide one a part that has what is
  // copied.
  const auto reached = [&](int32_t most, int32_t& size) {
    size = static_cast<int32_t>(random.integer(1, most));
    const auto outside = [&] { return static_cast<int32_t>(random.integer(0, 3)); };
    Span all{-outside(), size + outside()};
    if (size > 4 && random.chance(0.4)) all.begin = static_cast<int32_t>(random.integer(1, size - 4));
    if (size > 4 && all.begin < 1 && random.chance(0.5))
      all.end = static_cast<int32_t>(random.integer(4, size));
    return all;
  };
  Size picture;
  Box box{frames(random), {}, {}};
  box.y = reached(most_rows(channels), picture.y);
  box.x = reached(most_columns(channels), picture.x);
  picture.t = box.t.end;
  CAPTURE(name_of(edges), box.y.begin, box.y.end, box.x.begin, box.x.end, picture.y, picture.x);
  Map tile(random, box, channels, any_dtype(random));
  const Map before = tile;
  start(FillOutside{.tile = tile.view(), .edges = edges, .picture = picture}, nullptr);
  CHECK(difference(before, tile, 0, [&](const Position& at) -> Value {
          if (in_picture(at, picture)) return std::nullopt;
          return before.at({at.t, walked(edges, at.y, picture.y), walked(edges, at.x, picture.x), at.c});
        }) == "");
}

}  // namespace
}  // namespace headroom::gpu
