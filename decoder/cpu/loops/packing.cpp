#include "decoder/cpu/loops/packing.h"

#include <algorithm>
#include <array>

#include "decoder/cpu/loops/loops.h"

namespace headroom::kernels {
namespace {

constexpr int64_t kOutputs = 16;

/// Both axes of the kernel map for sixteen outputs at once.
template <size_t kProducts, size_t kTaps>
void transform(const std::array<std::array<double, kTaps>, kProducts>& map, const PackedPart& direct,
               int64_t inputs, const PackedPart& winograd) {
  for (int64_t k = 0; k < inputs; ++k) {
    double half[kProducts][kTaps][kOutputs] = {};
    for (size_t x = 0; x < kTaps; ++x) {
      for (size_t y = 0; y < kTaps; ++y) {
        const float* taps =
            direct.values + static_cast<int64_t>(y * kTaps + x) * direct.matrix + k * direct.input;
        for (size_t i = 0; i < kProducts; ++i) {
          if (map[i][y] == 0) continue;
          for (int64_t o = 0; o < kOutputs; ++o) half[i][x][o] += map[i][y] * double(taps[o]);
        }
      }
    }
    for (size_t i = 0; i < kProducts; ++i) {
      for (size_t j = 0; j < kProducts; ++j) {
        double sum[kOutputs] = {};
        for (size_t x = 0; x < kTaps; ++x) {
          if (map[j][x] == 0) continue;
          for (int64_t o = 0; o < kOutputs; ++o) sum[o] += map[j][x] * half[i][x][o];
        }
        float* to =
            winograd.values + static_cast<int64_t>(i * kProducts + j) * winograd.matrix + k * winograd.input;
        for (int64_t o = 0; o < kOutputs; ++o) to[o] = static_cast<float>(sum[o]);
      }
    }
  }
}

constexpr double kA = 0.625, kB = 1.5;
constexpr double kOfA = 2 * kA * kA * (kA * kA - kB * kB), kOfB = 2 * kB * kB * (kB * kB - kA * kA);

}  // namespace

// Row of point p: (1, p, p²) over the product of its distances to the other finite points.
const std::array<std::array<double, kPlainTaps>, 6> kPlainKernelMap{{
    {1 / (kA * kA * kB * kB), 0, 0},
    {1 / kOfA, kA / kOfA, kA* kA / kOfA},
    {1 / kOfA, -kA / kOfA, kA* kA / kOfA},
    {1 / kOfB, kB / kOfB, kB* kB / kOfB},
    {1 / kOfB, -kB / kOfB, kB* kB / kOfB},
    {0, 0, 1},
}};

const std::array<std::array<double, kUpsampledTaps>, 8> kUpsampledKernelMap{{
    {1, 0, 0, 0},
    {0.5, 0.5, 0, 0},
    {0.5, -0.5, 0, 0},
    {0, 1, 0, 0},
    {0, 0, 1, 0},
    {0, 0, 0.5, 0.5},
    {0, 0, 0.5, -0.5},
    {0, 0, 0, 1},
}};

int64_t panel_columns() {
  return loops().block_columns;
}

int64_t panel_offset(const KernelShape& shape, int64_t output) {
  const int64_t within = output % panel_columns();
  return (output - within) * shape.inputs + within;
}

int64_t panel_width(const KernelShape& shape, int64_t output) {
  return std::min(panel_columns(), shape.padded_outputs() - output / panel_columns() * panel_columns());
}

void pack_direct(const KernelShape& shape, const float* taps, int64_t output_distance, int64_t inputs,
                 int64_t outputs, const PackedPart& direct) {
  const int64_t matrices = shape.frame_matrices(ConvolutionAlgorithm::direct);
  for (int64_t k = 0; k < inputs; ++k) {
    for (int64_t o = 0; o < kOutputs; ++o) {
      const float* from = taps + o * output_distance + k * matrices;
      float* to = direct.values + k * direct.input + o;
      for (int64_t m = 0; m < matrices; ++m) to[m * direct.matrix] = o < outputs ? from[m] : 0;
    }
  }
}

void pack_winograd(const KernelShape& shape, const PackedPart& direct, int64_t inputs,
                   const PackedPart& winograd) {
  if (shape.upsamples) {
    transform(kUpsampledKernelMap, direct, inputs, winograd);
  } else {
    transform(kPlainKernelMap, direct, inputs, winograd);
  }
}

}  // namespace headroom::kernels
