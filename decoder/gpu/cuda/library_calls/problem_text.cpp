#include "decoder/gpu/cuda/library_calls/problem_text.h"

#include <initializer_list>

namespace headroom::gpu {
namespace {

std::string joined(const char* separator, std::initializer_list<int64_t> values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

}  // namespace

std::string text_of(const ConvolutionProblem& p) {
  std::string text = p.tf32 ? "tf32" : name_of(p.dtype);
  text += " " + joined("->", {p.inputs, p.outputs}) + ", taps " +
          joined("x", {p.taps_t, p.taps_y, p.taps_x}) + ", outputs " +
          joined("x", {p.frames, p.rows, p.columns}) + ", strides " +
          joined("+", {p.input_frame, p.input_row}) + " -> " + joined("+", {p.output_frame, p.output_row});
  if (p.adds) text += ", adds " + joined("+", {p.residual_frame, p.residual_row});
  return text;
}

}  // namespace headroom::gpu
