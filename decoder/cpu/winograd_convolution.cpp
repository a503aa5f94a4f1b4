#include <algorithm>
#include <array>
#include <optional>

#include "decoder/cpu/convolution.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/threads.h"

namespace headroom {
namespace {

using kernels::Product;

constexpr int64_t kMostIn = 6, kMostOut = 6;

/// Input and output windows of a block along one axis, clipped to the tile and to the output.
struct Window {
  int64_t in_begin, out_begin;  ///< positions of the whole window
  Interval in, out;             ///< clipped parts, relative to in_begin and out_begin
};

Window window_of(const KernelShape& kernel, int64_t block, const Interval& inputs, const Interval& outputs) {
  const WinogradShape& shape = kernel.winograd();
  const int64_t scale = kernel.upsamples ? 2 : 1;
  const int64_t origin = outputs.begin / scale + block * shape.step;
  Window window{origin - 1, origin * scale, {}, {}};
  const auto cut = [](const Interval& there, int64_t begin, int64_t length) {
    const Interval part = intersect(there, {begin, begin + length});
    return Interval{part.begin - begin, std::max(part.begin, part.end) - begin};
  };
  window.in = cut(inputs, window.in_begin, shape.in);
  window.out = cut(outputs, window.out_begin, shape.out);
  return window;
}

class Winograd {
 public:
  Winograd(const MapView& input, const PackedKernel& kernel, const MapView& target, const Region& region,
           const WinogradWork& work)
      : input_(input),
        kernel_(kernel),
        target_(target),
        region_(region),
        work_(work),
        loops_(kernel.shape.upsamples ? kernels::loops().winograd_upsampled
                                      : kernels::loops().winograd_plain) {}

  /// Blocks are counted through rows, frames and items. For temporal kernels the products of all kernel
  /// frames are summed before the inverse transform.
  void run(const Interval& blocks, float* buffer) const {
    const int64_t products = kernel_.shape.frame_matrices(ConvolutionAlgorithm::winograd);
    float* outputs = buffer + products * work_.input_product_floats();
    for (int64_t tap = 0; tap < kernel_.shape.frames; ++tap) {
      for (int64_t i = blocks.begin; i < blocks.end; ++i)
        transform_in(i, tap, buffer + (i - blocks.begin) * work_.input_row_floats);
      for (int64_t product = 0; product < products; ++product) {
        multiply(tap * products + product, blocks.length(), tap > 0,
                 buffer + product * work_.input_product_floats(),
                 outputs + product * work_.output_product_floats());
      }
    }
    for (int64_t i = blocks.begin; i < blocks.end; ++i)
      transform_out(i, outputs + (i - blocks.begin) * work_.output_row_floats);
  }

 private:
  struct Place {
    int64_t item, t;
    Window y, x;
  };
  Place place_of(int64_t block) const {
    const int64_t column = block % work_.columns, row = block / work_.columns % work_.rows;
    const int64_t frame = block / work_.columns / work_.rows, frames = region_.t.length();
    return {frame / frames, region_.t.begin + frame % frames,
            window_of(kernel_.shape, row, input_.region.y, region_.y),
            window_of(kernel_.shape, column, input_.region.x, region_.x)};
  }

  void transform_in(int64_t block, int64_t tap, float* transformed) const {
    const Place place = place_of(block);
    const std::optional<int64_t> frame = frame_of_tap(kernel_.shape, place.t, tap, input_.region.t.end);
    std::array<const float*, kMostIn> rows{};  // null rows are zeros
    for (int64_t i = place.y.in.begin; i < place.y.in.end && frame; ++i) {
      rows[static_cast<size_t>(i)] =
          input_.at({place.item, *frame, place.y.in_begin + i}, place.x.in_begin + place.x.in.begin);
    }
    loops_.in({rows.data(), place.x.in.begin, place.x.in.end, kernel_.shape.inputs, transformed,
               work_.input_product_floats()});
  }

  void multiply(int64_t number, int64_t blocks, bool adds, const float* inputs, float* outputs) const {
    constexpr kernels::Tap kOne{};
    const KernelShape& shape = kernel_.shape;
    Product product;
    product.a = inputs;
    product.a_row = work_.input_row_floats;
    product.taps = &kOne;
    product.tap_count = 1;
    product.depth = shape.inputs;
    product.c_row = work_.output_row_floats;
    product.rows = blocks;
    product.add = adds;
    const float* matrix = kernel_.values + number * shape.matrix_floats();
    for (int64_t first = 0; first < shape.padded_outputs(); first += kernels::panel_columns()) {
      product.width = product.columns = kernels::panel_width(shape, first);
      product.b = matrix + kernels::panel_offset(shape, first);
      product.c = outputs + first;
      product.ahead = product.b + shape.inputs * product.width;  // panels lie one after another
      kernels::loops().multiply(product);
    }
  }

  void transform_out(int64_t block, const float* products) const {
    const Place place = place_of(block);
    std::array<float*, kMostOut> rows{};
    for (int64_t i = place.y.out.begin; i < place.y.out.end; ++i) {
      rows[static_cast<size_t>(i)] =
          target_.at({place.item, place.t, place.y.out_begin + i}, place.x.out_begin + place.x.out.begin);
    }
    loops_.out({products, work_.output_product_floats(), kernel_.shape.outputs, kernel_.bias, rows.data(),
                place.x.out.begin, place.x.out.end});
  }

  const MapView& input_;
  const PackedKernel& kernel_;
  const MapView& target_;
  const Region& region_;
  const WinogradWork& work_;
  const kernels::WinogradLoops& loops_;
};

}  // namespace

void convolve_by_winograd(LimitedPool& pool, const ConvolutionCall& call) {
  const int64_t threads = thread_count();
  const WinogradWork work = winograd_work(call.kernel.shape, call.region, call.items, threads);
  const int64_t blocks = call.items * call.region.t.length() * work.rows * work.columns;
  // Even shares: as many chunks for each thread, none larger than the buffers.
  const int64_t rounds = (blocks + threads * work.chunk - 1) / (threads * work.chunk);
  const int64_t chunks = std::min(blocks, rounds * threads);
  const std::shared_ptr<float> buffers = pool.take_floats(threads * work.thread_floats);
  const Winograd winograd(call.input, call.kernel, call.target, call.region, work);
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    float* buffer = buffers.get() + thread_number() * work.thread_floats;
    for (int64_t i = begin; i < end; ++i) {
      winograd.run({blocks * i / chunks, blocks * (i + 1) / chunks}, buffer);
      call.told.part(i - begin, end - begin).done(1);
    }
  });
}

}  // namespace headroom
