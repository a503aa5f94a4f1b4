#include "decoder/gpu/transfers/gpu_output.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>
#include <stdexcept>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/files/eight_bit.h"
#include "decoder/gpu/calls/plain_view.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/late_gpu.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using test::LateGpu;

constexpr int64_t kColumns = 1024;
/// One channel: rows that fill a buffer of staging in fp32.
constexpr int64_t kRows = OutputStaging::kBytes / 4 / kColumns;
constexpr int64_t kPieces = 2 * OutputStaging::kBuffers;

/// Keeps what it is given, and does as it is told when a piece comes.
class KeepingSink final : public PictureSink {
 public:
  explicit KeepingSink(PixelFormat format, std::function<void(int64_t)> when = {})
      : PictureSink({1, 1, 1, kPieces * kRows, kColumns}), format_(format), when_(std::move(when)) {}
  PixelFormat format() const override { return format_; }

  std::vector<float> values;
  std::vector<uint8_t> bytes;
  int64_t pieces = 0;

 private:
  void put(int64_t, const Region& region, const float* pixels) override {
    if (when_) when_(pieces);
    values.insert(values.end(), pixels, pixels + positions(extent_of(region)));
    ++pieces;
  }
  void put_bytes(int64_t, const Region& region, const uint8_t* pixels) override {
    if (when_) when_(pieces);
    bytes.insert(bytes.end(), pixels, pixels + positions(extent_of(region)));
    ++pieces;
  }
  void complete() override {}

  const PixelFormat format_;
  const std::function<void(int64_t)> when_;
};

/// A picture in a GPU's memory, each row of it another value.
struct Picture {
  explicit Picture(gpu::Gpu& on) : gpu(on), staging(on) {
    memory = gpu.reserve(kPieces * kRows * kColumns * 4);
    for (int64_t row = 0; row < kPieces * kRows; ++row) set_row(row, value(row));
  }
  ~Picture() { gpu.release(); }

  static float value(int64_t row) { return static_cast<float>(row) / float(kPieces * kRows) * 2.4f - 1.2f; }
  /// On the host: the emulated GPU's memory is the host's.
  void set_row(int64_t row, float value_of_row) {
    std::fill_n(reinterpret_cast<float*>(memory) + row * kColumns, kColumns, value_of_row);
  }
  static Region rows(int64_t begin, int64_t end) { return {{0, 1}, {begin, end}, {0, kColumns}}; }
  gpu::View view() const { return plain_view(memory, rows(0, kPieces * kRows), 1, Dtype::fp32); }
  void emit_piece(GpuOutput& output, int64_t piece, PictureSink& sink) const {
    output.emit(view(), 0, rows(piece * kRows, (piece + 1) * kRows), "conv_out", sink);
  }
  static std::vector<float> expected() {
    std::vector<float> values;
    for (int64_t row = 0; row < kPieces * kRows; ++row) values.insert(values.end(), kColumns, value(row));
    return values;
  }

  gpu::Gpu& gpu;
  OutputStaging staging;
  std::byte* memory;
};

TEST_CASE("a writer that takes pieces as fast as they come is never waited for in vain") {
  EmulatedGpu gpu;
  Picture picture(gpu);
  int64_t taken = 0;
  KeepingSink sink(PixelFormat::fp32, [&](int64_t) { ++taken; });
  constexpr int64_t kRounds = test::kSanitized ? 2000 : 20000;
  GpuOutput output(gpu, picture.staging);
  for (int64_t i = 0; i < kRounds; ++i)
    output.emit(picture.view(), 0, {{0, 1}, {0, 1}, {i % kColumns, i % kColumns + 1}}, "conv_out", sink);
  output.finish();
  CHECK(taken == kRounds);
}

TEST_CASE("a picture reaches its sink in order and whole, however late the GPU is") {
  EmulatedGpu emulated;
  for (const int work_between : {1, 0, 5}) {
    if (test::kSanitized && work_between != 1) continue;
    LateGpu late(emulated, work_between);
    const Picture picture(late);
    KeepingSink values(PixelFormat::fp32), bytes(PixelFormat::eight_bits);
    GpuOutput output(late, picture.staging);
    output.emit(picture.view(), 0, Picture::rows(0, kPieces * kRows), "conv_out", values);
    output.emit(picture.view(), 0, Picture::rows(0, kPieces * kRows), "conv_out", bytes);
    output.finish();
    const std::vector<float> expected = Picture::expected();
    CHECK(values.values == expected);
    CHECK(values.pieces == kPieces);
    std::vector<uint8_t> quantised(expected.size());
    quantise(expected.data(), static_cast<int64_t>(expected.size()), quantised.data());
    CHECK(bytes.bytes == quantised);
    CHECK(bytes.pieces == kPieces / 4);
    values.finish();
    bytes.finish();
  }
}

TEST_CASE("a decode goes on while its sink is slow, until the staging is used up") {
  EmulatedGpu gpu;
  const Picture picture(gpu);
  std::promise<void> go_on;
  std::future<void> waited = go_on.get_future();
  KeepingSink sink(PixelFormat::fp32, [&](int64_t piece) {
    if (piece == 0) waited.wait();
  });
  GpuOutput output(gpu, picture.staging);
  for (int64_t piece = 0; piece < OutputStaging::kBuffers; ++piece) picture.emit_piece(output, piece, sink);
  CHECK(sink.pieces == 0);  // all of these came back although the sink has not taken one
  go_on.set_value();
  for (int64_t piece = OutputStaging::kBuffers; piece < kPieces; ++piece)
    picture.emit_piece(output, piece, sink);
  output.finish();
  CHECK(sink.values == Picture::expected());
}

TEST_CASE("the first layer that is not finite is named, and no piece behind it is handed on") {
  EmulatedGpu emulated;
  LateGpu late(emulated);
  Picture picture(late);
  KeepingSink sink(PixelFormat::eight_bits);
  const auto finish = [](GpuOutput& output) { output.finish(); };
  SECTION("a piece of the picture") {
    picture.set_row(3 * kRows, std::nanf(""));
    GpuOutput output(late, picture.staging);
    for (int64_t piece = 0; piece < 5; ++piece) picture.emit_piece(output, piece, sink);
    CHECK_THROWS_AS(finish(output), InputError);
  }
  SECTION("statistics before it") {
    auto* sums = reinterpret_cast<double*>(late.reserve_host(64));
    std::fill_n(sums, 8, 1.0);
    sums[7] = -std::numeric_limits<double>::infinity();
    picture.set_row(3 * kRows, std::nanf(""));
    GpuOutput output(late, picture.staging);
    for (int64_t piece = 0; piece < 3; ++piece) picture.emit_piece(output, piece, sink);
    output.check_finite(sums, 7, "norm 1");
    output.check_finite(sums, 8, "norm 2");
    picture.emit_piece(output, 3, sink);
    CHECK_THROWS_WITH(finish(output), Catch::Contains("norm 2: its output is not finite"));
  }
  CHECK(sink.pieces <= 3);
  CHECK_THROWS_AS(sink.finish(), std::logic_error);
}

TEST_CASE("more statistics than there are flags are all looked at") {
  EmulatedGpu emulated;
  for (const int64_t bad : {int64_t{0}, OutputStaging::kFlags - 1, OutputStaging::kFlags, int64_t{600}}) {
    LateGpu late(emulated);
    const OutputStaging staging(late);
    auto* sums = reinterpret_cast<double*>(late.reserve_host(16));
    sums[0] = 1;
    sums[1] = std::nan("");
    const auto ask = [&] {
      GpuOutput output(late, staging);
      for (int64_t i = 0; i < 3 * OutputStaging::kFlags; ++i)
        output.check_finite(sums + (i == bad ? 1 : 0), 1, "layer " + std::to_string(i));
      output.finish();
    };
    CHECK_THROWS_WITH(ask(), Catch::StartsWith("layer " + std::to_string(bad) + ":"));
    late.release();
  }
}

TEST_CASE("what a sink throws comes back, once for every call, and nothing more is written") {
  EmulatedGpu gpu;
  const Picture picture(gpu);
  KeepingSink sink(PixelFormat::fp32, [](int64_t piece) {
    if (piece == 2) throw DeviceError("the disk is full");
  });
  GpuOutput output(gpu, picture.staging);
  const auto emit_all = [&] {
    for (int64_t piece = 0; piece < kPieces; ++piece) picture.emit_piece(output, piece, sink);
  };
  CHECK_THROWS_WITH(emit_all(), "the disk is full");
  CHECK_THROWS_WITH(output.finish(), "the disk is full");
  CHECK(sink.pieces == 2);
}

TEST_CASE("a decode may end in the middle, and another one use the staging") {
  EmulatedGpu emulated;
  LateGpu late(emulated);
  const Picture picture(late);
  std::promise<void> go_on;
  std::shared_future<void> waited = go_on.get_future().share();
  KeepingSink slow(PixelFormat::fp32, [&](int64_t) { waited.wait(); });
  {
    GpuOutput output(late, picture.staging);
    for (int64_t piece = 0; piece < OutputStaging::kBuffers; ++piece) picture.emit_piece(output, piece, slow);
    late.wait_on_host(late.record(gpu::Stream::compute));
    output.check_finite(reinterpret_cast<const double*>(picture.memory), 1, "a layer");
    go_on.set_value();
  }
  CHECK(slow.pieces <= OutputStaging::kBuffers);
  KeepingSink sink(PixelFormat::fp32);
  GpuOutput output(late, picture.staging);
  output.emit(picture.view(), 0, Picture::rows(0, kPieces * kRows), "conv_out", sink);
  output.finish();
  CHECK(sink.values == Picture::expected());
}

}  // namespace
}  // namespace headroom
