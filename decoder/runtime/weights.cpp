#include "decoder/runtime/weights.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>

#include "decoder/graph/errors.h"
#include "decoder/plan/memory.h"

namespace headroom {
namespace {

constexpr int64_t kAlignedFloats = 16;
constexpr int64_t kPieceFloats = int64_t{16} << 10;

int64_t elements(const Parameter& parameter) {
  int64_t product = 1;
  for (int64_t length : parameter.shape) product *= length;
  return product;
}

int64_t padded_elements(const Parameter& parameter) {
  return (elements(parameter) + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

/// Runs f on pieces of [0, count), each a multiple of `unit` long where that is no more than a piece may be.
template <typename F>
void for_pieces(int64_t count, int64_t unit, const F& f) {
  const int64_t piece = std::max(unit, kPieceFloats / unit * unit);
  at::parallel_for(0, (count + piece - 1) / piece, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(Interval{i * piece, std::min(count, (i + 1) * piece)});
  });
}

/// From the order of the shape, [O, I, ky, kx], to [O, ky, kx, I], piece by piece of whole kernels.
void load_channels_last(const ParameterSource& source, const Parameter& parameter, float* out) {
  const int64_t inputs = parameter.shape[1];
  const int64_t taps = parameter.shape[2] * parameter.shape[3];
  for_pieces(elements(parameter), taps, [&](const Interval& piece) {
    std::vector<float> values(static_cast<size_t>(piece.length()));
    source(parameter, piece, values.data());
    const float* value = values.data();
    for (int64_t kernel = piece.begin / taps; kernel < piece.end / taps; ++kernel) {
      float* to = out + kernel / inputs * inputs * taps + kernel % inputs;
      for (int64_t tap = 0; tap < taps; ++tap) to[tap * inputs] = *value++;
    }
  });
}

void load(const ParameterSource& source, const Parameter& parameter, float* out) {
  for_pieces(elements(parameter), 1,
             [&](const Interval& piece) { source(parameter, piece, out + piece.begin); });
}

int64_t slab_floats(const Graph& graph, const std::vector<OpId>& operations) {
  int64_t sum = 0;
  for (OpId op : operations) {
    for (const Parameter& parameter : parameters_of(graph, graph.op(op))) sum += padded_elements(parameter);
  }
  return sum;
}

}  // namespace

std::vector<OpId> all_operations(const Graph& graph) {
  std::vector<OpId> operations;
  for (size_t i = 0; i < graph.ops().size(); ++i) operations.push_back(OpId{static_cast<int32_t>(i)});
  return operations;
}

std::vector<OpId> operations_of(const Pass& pass) {
  std::vector<OpId> operations;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1}) operations.push_back(step.op);
  }
  return operations;
}

Weights::Weights(const Graph& graph, const std::vector<OpId>& operations, const ParameterSource& source,
                 const std::function<void(double)>& progress)
    : slab_(at::empty({slab_floats(graph, operations)}, at::kFloat)), ops_(graph.ops().size()) {
  float* next = slab_.data_ptr<float>();
  for (size_t i = 0; i < operations.size(); ++i) {
    const std::vector<Parameter> parameters = parameters_of(graph, graph.op(operations[i]));
    OpWeights& weights = ops_[index(operations[i])];
    if (!parameters.empty()) {
      const Parameter& weight = parameters[0];
      const std::vector<int64_t>& shape = weight.shape;
      if (shape.size() == 4) {
        load_channels_last(source, weight, next);
        weights.weight =
            at::from_blob(next, {shape[0], shape[2], shape[3], shape[1]}, at::kFloat).permute({0, 3, 1, 2});
      } else {
        load(source, weight, next);
        weights.weight = at::from_blob(next, shape, at::kFloat);
      }
      next += padded_elements(weight);
      load(source, parameters[1], next);
      weights.bias = at::from_blob(next, parameters[1].shape, at::kFloat);
      next += padded_elements(parameters[1]);
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

void PlannedWeights::begin_pass(size_t number) {
  if (resident_ != nullptr) return;
  const Pass& pass = plan_.passes[number];
  try {
    of_pass_.emplace(graph_, operations_of(pass), source_);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name +
                        "), loading its weights: " + refused.what());
  }
}

}  // namespace headroom
