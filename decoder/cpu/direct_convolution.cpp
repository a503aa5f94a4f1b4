#include <algorithm>
#include <optional>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/rows.h"

namespace headroom {
namespace {

using kernels::Product;
using kernels::Tap;

// Rows of a panel, over all taps, that stay in the second-level cache while a thread goes through its pixels.
constexpr int64_t kPanelRows = 1152;
/// A thread reports progress after this many multiplications, which take some tens of microseconds.
constexpr int64_t kProductsBetween = 1 << 22;

/// Outputs that share one set of taps: all of them, or every second row and column over upsampling.
struct Phase {
  int64_t row = 0, column = 0;
  std::vector<Tap> taps;
};

/// The taps for an output in frame `t`. Offsets `a` count from the first input of a pixel's window in that
/// frame, offsets `b` from the kernel's first matrix.
std::vector<Phase> phases_of(const KernelShape& shape, const MapView& input, int64_t t) {
  const int64_t input_columns = input.region.x.length();
  const int64_t frame_floats = input.block_rows * input_columns * shape.inputs;
  const int64_t frame_matrices = shape.frame_matrices(ConvolutionAlgorithm::direct);
  const int64_t count = shape.upsamples ? 2 : 1;
  const int64_t rows = shape.upsamples ? 2 : shape.rows, columns = shape.upsamples ? 2 : shape.columns;
  const int64_t own = t * shape.stride.t;
  std::vector<Phase> phases;
  for (int64_t py = 0; py < count; ++py) {
    for (int64_t px = 0; px < count; ++px) {
      Phase phase{py, px, {}};
      for (int64_t k = 0; k < shape.frames; ++k) {
        const std::optional<int64_t> frame = frame_of_tap(shape, own, k, input.region.t.end);
        if (!frame) continue;
        for (int64_t y = 0; y < rows; ++y) {
          for (int64_t x = 0; x < columns; ++x) {
            const int64_t matrix =
                k * frame_matrices + (py * rows + y) * shape.direct_columns() + px * columns + x;
            phase.taps.push_back({(*frame - own) * frame_floats + (y * input_columns + x) * shape.inputs,
                                  matrix * shape.matrix_floats()});
          }
        }
      }
      phases.push_back(std::move(phase));
    }
  }
  return phases;
}

/// One panel of outputs over some rows of pixels.
class PanelOfRows {
 public:
  PanelOfRows(const MapView& input, const PackedKernel& kernel, const MapView& target, const Region& region)
      : input_(input), kernel_(kernel), target_(target), region_(region) {
    for (int64_t t = region.t.begin; t < region.t.end; ++t)
      phases_.push_back(phases_of(kernel.shape, input, t));
  }

  /// Rows are counted through all frames of all items.
  void run(int64_t panel, const Interval& rows, const ToldShare& told) const {
    const KernelShape& shape = kernel_.shape;
    const int64_t first = panel * kernels::panel_columns();
    Product product;
    product.width = kernels::panel_width(shape, first);
    product.columns = std::min(product.width, shape.outputs - first);
    // Counts every frame of the kernel, even one that the input lacks: the tile must not change the order of
    // summation.
    const int64_t taps = shape.frames * (shape.upsamples ? 4 : shape.rows * shape.columns);
    const int64_t depth = std::max<int64_t>(1, kPanelRows / taps);
    for (int64_t k = 0; k < shape.inputs; k += depth) {
      product.depth = std::min(depth, shape.inputs - k);
      product.b = kernel_.values + kernels::panel_offset(shape, first) + k * product.width;
      product.bias = k == 0 ? kernel_.bias + first : nullptr;
      product.add = k > 0;
      const ToldShare of_depth = told.part(k / depth, (shape.inputs + depth - 1) / depth);
      const int64_t between = rows_between(product.depth * taps * product.columns);
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        run_row(product, row_of(region_, row), k, first);
        const int64_t done = row + 1 - rows.begin;
        if (done % between == 0 || row + 1 == rows.end) of_depth.done(double(done) / double(rows.length()));
      }
    }
  }

 private:
  /// Rows between two progress reports.
  int64_t rows_between(int64_t products_per_pixel) const {
    const int64_t products = region_.x.length() * products_per_pixel;
    return std::max<int64_t>(1, kProductsBetween / std::max<int64_t>(1, products));
  }
  void run_row(Product product, const Row& row, int64_t k, int64_t first) const {
    const KernelShape& shape = kernel_.shape;
    const int64_t step = shape.upsamples ? 2 : 1, y = row.y;
    for (const Phase& phase : phases_[static_cast<size_t>(row.t - region_.t.begin)]) {
      if (y % step != phase.row) continue;
      const int64_t x = region_.x.begin + (phase.column + step - region_.x.begin % step) % step;
      if (x >= region_.x.end) continue;
      // An even upsampled output's window begins one position before its source, an odd one's at its source.
      const int64_t top = shape.upsamples ? y / 2 - 1 + phase.row : y * shape.stride.y - shape.rows_before();
      const int64_t left =
          shape.upsamples ? x / 2 - 1 + phase.column : x * shape.stride.x - shape.columns_before();
      product.a = input_.at({row.item, row.t * shape.stride.t, top}, left) + k;
      product.a_row = shape.stride.x * shape.inputs;
      product.taps = phase.taps.data();
      product.tap_count = static_cast<int64_t>(phase.taps.size());
      product.c = target_.at(row, x) + first;
      product.c_row = step * shape.outputs;
      product.rows = (region_.x.end - x + step - 1) / step;
      kernels::loops().multiply(product);
    }
  }

  const MapView& input_;
  const PackedKernel& kernel_;
  const MapView& target_;
  const Region& region_;
  std::vector<std::vector<Phase>> phases_;  ///< by frame of the region
};

}  // namespace

void convolve_directly(const ConvolutionCall& call) {
  const PanelOfRows work(call.input, call.kernel, call.target, call.region);
  const int64_t rows = call.items * call.region.t.length() * call.region.y.length();
  const int64_t panels =
      (call.kernel.shape.padded_outputs() + kernels::panel_columns() - 1) / kernels::panel_columns();
  // Panel by panel, so that each thread reads only a part of a kernel with several panels.
  const int64_t groups = std::min<int64_t>(rows, thread_count());
  parallel_for(0, panels * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t group = i % groups;
      work.run(i / groups, {rows * group / groups, rows * (group + 1) / groups},
               call.told.part(i - begin, end - begin));
    }
  });
}

}  // namespace headroom
