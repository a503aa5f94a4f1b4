#include "decoder/runtime/weights.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "decoder/graph/errors.h"
#include "decoder/kernels/packing.h"
#include "decoder/plan/memory.h"

namespace headroom {
namespace {

using kernels::PackedPart;

constexpr int64_t kAlignedFloats = 16;
constexpr int64_t kPieceFloats = int64_t{16} << 10;
// Kernels are packed in parts of so many outputs and inputs.
constexpr int64_t kPartOutputs = 16;
constexpr int64_t kPartInputs = 64;

int64_t aligned(int64_t floats) {
  return (floats + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

int64_t elements(const Parameter& parameter) {
  int64_t product = 1;
  for (int64_t length : parameter.shape) product *= length;
  return product;
}

/// Runs f on pieces of [0, count).
template <typename F>
void for_pieces(int64_t count, const F& f) {
  at::parallel_for(0, (count + kPieceFloats - 1) / kPieceFloats, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      f(Interval{i * kPieceFloats, std::min(count, (i + 1) * kPieceFloats)});
  });
}

/// Runs f(first output, inputs) on every part of a kernel. Threads may keep buffers in `Buffers`.
template <typename Buffers, typename F>
void for_parts(const KernelShape& shape, const F& f) {
  const int64_t across = (shape.inputs + kPartInputs - 1) / kPartInputs;
  const int64_t parts = (shape.outputs + kPartOutputs - 1) / kPartOutputs * across;
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    Buffers buffers;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * kPartInputs;
      f(i / across * kPartOutputs, Interval{first, std::min(shape.inputs, first + kPartInputs)}, buffers);
    }
  });
}

/// The part of a packed kernel that begins with this output and input.
PackedPart part_of(const KernelShape& shape, float* packed, int64_t output, int64_t input) {
  const int64_t width = kernels::panel_width(shape, output);
  return {packed + kernels::panel_offset(shape, output) + input * width, shape.matrix_floats(), width};
}

void load_kernel(const ParameterSource& source, const Parameter& parameter, const KernelShape& shape,
                 ConvolutionForm form, float* packed) {
  struct Buffers {
    std::vector<float> taps, direct;
  };
  const int64_t kernel_taps = shape.rows * shape.columns;
  for_parts<Buffers>(shape, [&](int64_t output, const Interval& inputs, Buffers& buffers) {
    const int64_t outputs = std::min(kPartOutputs, shape.outputs - output);
    const int64_t distance = inputs.length() * kernel_taps;
    buffers.taps.resize(static_cast<size_t>(kPartOutputs * distance));
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t begin = ((output + o) * shape.inputs + inputs.begin) * kernel_taps;
      source(parameter, {begin, begin + distance}, buffers.taps.data() + o * distance);
    }
    const PackedPart target = part_of(shape, packed, output, inputs.begin);
    if (form == ConvolutionForm::direct) {
      kernels::pack_direct(shape, buffers.taps.data(), distance, inputs.length(), outputs, target);
      return;
    }
    const int64_t matrices = shape.matrices(ConvolutionForm::direct);
    buffers.direct.resize(static_cast<size_t>(matrices * inputs.length() * kPartOutputs));
    const PackedPart direct{buffers.direct.data(), inputs.length() * kPartOutputs, kPartOutputs};
    kernels::pack_direct(shape, buffers.taps.data(), distance, inputs.length(), outputs, direct);
    kernels::pack_winograd(shape, direct, inputs.length(), target);
  });
}

void transform_kernel(const PackedKernel& from, float* packed) {
  struct Nothing {};
  // Only read through.
  float* direct = const_cast<float*>(from.values);
  for_parts<Nothing>(from.shape, [&](int64_t output, const Interval& inputs, Nothing&) {
    kernels::pack_winograd(from.shape, part_of(from.shape, direct, output, inputs.begin), inputs.length(),
                           part_of(from.shape, packed, output, inputs.begin));
  });
}

void load(const ParameterSource& source, const Parameter& parameter, float* out) {
  for_pieces(elements(parameter),
             [&](const Interval& piece) { source(parameter, piece, out + piece.begin); });
}

}  // namespace

std::vector<OpId> all_operations(const Graph& graph) {
  std::vector<OpId> operations;
  for (size_t i = 0; i < graph.ops().size(); ++i) operations.push_back(OpId{static_cast<int32_t>(i)});
  return operations;
}

Weights::Weights(const Graph& graph, const std::vector<OpId>& operations, ConvolutionForm form,
                 const ParameterSource& source, const std::function<void(double)>& progress)
    : ops_(graph.ops().size()) {
  int64_t floats = 0;
  for (OpId op : operations) floats += weights_bytes(graph, graph.op(op), form) / int64_t{sizeof(float)};
  slab_ = at::empty({floats}, at::kFloat);
  float* next = slab_.data_ptr<float>();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    const std::vector<Parameter> parameters = parameters_of(graph, op);
    OpWeights& weights = ops_[index(operations[i])];
    if (!parameters.empty()) {
      if (op.kind == OpKind::conv) {
        const KernelShape shape = kernel_shape(graph, op);
        const ConvolutionForm own = form_of(shape, form);
        load_kernel(source, parameters[0], shape, own, next);
        weights.kernel = {shape, own, next};
        next += aligned(shape.floats(own));
      } else {
        load(source, parameters[0], next);
        weights.scale = next;
        next += aligned(elements(parameters[0]));
      }
      load(source, parameters[1], next);
      weights.bias = next;
      next += aligned(elements(parameters[1]));
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

Weights::Weights(const Graph& graph, const std::vector<OpId>& operations, const Weights& direct)
    : ops_(direct.ops_) {
  std::vector<OpId> changing;
  int64_t floats = 0;
  for (OpId op : operations) {
    if (!has_winograd_form(graph, op)) continue;
    changing.push_back(op);
    floats += direct.of(op).kernel.shape.floats(ConvolutionForm::winograd);
  }
  slab_ = at::empty({floats}, at::kFloat);
  float* next = slab_.data_ptr<float>();
  for (OpId op : changing) {
    PackedKernel& kernel = ops_[index(op)].kernel;
    transform_kernel(direct.of(op).kernel, next);
    kernel = {kernel.shape, ConvolutionForm::winograd, next};
    next += kernel.shape.floats(ConvolutionForm::winograd);
  }
}

void PlannedWeights::begin_pass(size_t number) {
  const Pass& pass = plan_.passes[number];
  try {
    if (resident_ == nullptr) {
      of_pass_.emplace(graph_, operations_of(pass), pass.convolutions, source_);
    } else if (pass.convolutions == ConvolutionForm::winograd) {
      of_pass_.emplace(graph_, operations_of(pass), *resident_);
    }
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name +
                        "), loading its weights: " + refused.what());
  }
}

}  // namespace headroom
