#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "tests/decoder/gpu/cuda/engines/cards.h"

namespace headroom::test {

/// Loads a library in the driver's place, so that cuDNN offers what it would on a card. Empty, or why cuDNN
/// cannot be asked: CTest counts a test that prints it as skipped.
std::string why_cudnn_cannot_be_asked();

/// A decode whose convolutions are asked about. Tight is half of what it takes where there is plenty.
struct SurveyedDecode {
  std::string model;
  int64_t width_pixels = 0, height_pixels = 0, frames = 1;
  bool tight = false;
};

/// An engine of cuDNN that was taken.
struct EngineUse {
  bool tensor_cores = false;
  bool compiles = false;
  int32_t most_inputs = 0;  ///< channels that one of them reads
  int64_t problems = 0;     ///< distinct ones
  double flops = 0;         ///< of all convolutions
};

/// Why a convolution is left to kernels of our own.
enum class LeftFor { groups, frame_of_zeros, one_tap_in_place, something_else };

/// The cuDNN engines that decodes use on one card.
struct EnginesOfCard {
  std::map<int64_t, EngineUse> engines;
  std::map<LeftFor, int64_t> left;  ///< distinct shapes of kernels
  int64_t over_grant = 0;           ///< plans that take more than there was
  int64_t poor = 0;  ///< convolutions that cuDNN would rather compute otherwise, given more workspace
  double poor_flops = 0;
  int64_t most_workspace_bytes = 0;
};

/// In the order of kCards.
using EnginesOfCards = std::vector<EnginesOfCard>;

/// Arithmetic of a decode.
struct SurveyedType {
  const char* name;
  Dtype dtype;
  bool tf32 = false;
};
constexpr std::array<SurveyedType, 4> kSurveyedTypes{
    {{"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}, {"fp32", Dtype::fp32}, {"fp32, TF32", Dtype::fp32, true}}};

/// Plans each decode for CUDA and runs it dry: what cuDNN would take for its convolutions, in the order of
/// kSurveyedTypes. Throws InputError where a decode cannot be planned.
std::array<EnginesOfCards, kSurveyedTypes.size()> survey_engines(const std::vector<SurveyedDecode>& decodes);

}  // namespace headroom::test
