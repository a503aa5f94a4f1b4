#include "decoder/runtime/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include "decoder/plan/memory.h"

namespace headroom {
namespace {

constexpr int64_t kAlignedFloats = 16;

int64_t elements(const Parameter& parameter) {
  int64_t product = 1;
  for (int64_t length : parameter.shape) product *= length;
  return product;
}

}  // namespace

Weights::Weights(const Graph& graph, const ParameterSource& source, const std::function<void(double)>& progress)
    : slab_(at::empty({weights_bytes(graph, Dtype::fp32) / int64_t{sizeof(float)}}, at::kFloat)) {
  float* next = slab_.data_ptr<float>();
  const auto place = [&](const Parameter& parameter) {
    float* memory = next;
    next += (elements(parameter) + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
    return memory;
  };
  for (size_t i = 0; i < graph.ops().size(); ++i) {
    const std::vector<Parameter> parameters = parameters_of(graph, graph.ops()[i]);
    OpWeights weights;
    if (!parameters.empty()) {
      const Parameter& weight = parameters[0];
      float* memory = place(weight);
      if (weight.shape.size() == 4) {
        const at::IntArrayRef shape(weight.shape);
        const at::Tensor as_stored = at::empty(shape, at::kFloat);
        source(weight, as_stored.data_ptr<float>());
        weights.weight = at::from_blob(memory, {shape[0], shape[2], shape[3], shape[1]}, at::kFloat).permute({0, 3, 1, 2});
        weights.weight.copy_(as_stored);
      } else {
        source(weight, memory);
        weights.weight = at::from_blob(memory, weight.shape, at::kFloat);
      }
      memory = place(parameters[1]);
      source(parameters[1], memory);
      weights.bias = at::from_blob(memory, parameters[1].shape, at::kFloat);
    }
    ops_.push_back(std::move(weights));
    if (progress) progress(double(i + 1) / double(graph.ops().size()));
  }
}

}  // namespace headroom
