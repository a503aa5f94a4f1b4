#include "decoder/gpu/cuda/library_calls/problem_text.h"

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace headroom::gpu {
namespace {

ConvolutionProblem problem() {
  return {.dtype = Dtype::bf16,
          .inputs = 512,
          .outputs = 256,
          .taps_t = 1,
          .taps_y = 3,
          .taps_x = 2,
          .frames = 4,
          .rows = 64,
          .columns = 128,
          .input_row = 66560,
          .input_frame = 4392960,
          .output_row = 32768,
          .output_frame = 2097152,
          .adds = true,
          .residual_row = 11,
          .residual_frame = 12};
}

TEST_CASE("a problem's text names its dtype, channels, taps, extents and strides") {
  CHECK(text_of(problem()) ==
        "bf16 512->256, taps 1x3x2, outputs 4x64x128, strides 4392960+66560 -> 2097152+32768, adds 12+11");
}

TEST_CASE("different problems have different texts") {
  using Change = std::function<void(ConvolutionProblem&)>;
  const std::vector<Change> changes{
      [](ConvolutionProblem& p) { p.dtype = Dtype::fp16; },
      [](ConvolutionProblem& p) { p.tf32 = true; },
      [](ConvolutionProblem& p) { p.inputs = 1; },
      [](ConvolutionProblem& p) { p.outputs = 1; },
      [](ConvolutionProblem& p) { p.taps_t = 5; },
      [](ConvolutionProblem& p) { p.taps_y = 5; },
      [](ConvolutionProblem& p) { p.taps_x = 5; },
      [](ConvolutionProblem& p) { p.frames = 1; },
      [](ConvolutionProblem& p) { p.rows = 1; },
      [](ConvolutionProblem& p) { p.columns = 1; },
      [](ConvolutionProblem& p) { p.input_row = 1; },
      [](ConvolutionProblem& p) { p.input_frame = 1; },
      [](ConvolutionProblem& p) { p.output_row = 1; },
      [](ConvolutionProblem& p) { p.output_frame = 1; },
      [](ConvolutionProblem& p) { p.adds = false; },
      [](ConvolutionProblem& p) { p.residual_row = 1; },
      [](ConvolutionProblem& p) { p.residual_frame = 1; },
  };
  std::set<std::string> texts{text_of(problem())};
  for (const Change& change : changes) {
    ConvolutionProblem changed = problem();
    change(changed);
    texts.insert(text_of(changed));
  }
  CHECK(texts.size() == changes.size() + 1);
}

}  // namespace
}  // namespace headroom::gpu
