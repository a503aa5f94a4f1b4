#include "decoder/schedule/weights_bytes.h"

#include "decoder/operations/convolution.h"
#include "decoder/schedule/storage.h"

namespace headroom {

std::vector<OpId> all_operations(const Graph& graph) {
  std::vector<OpId> operations;
  for (size_t i = 0; i < graph.ops().size(); ++i) operations.push_back(OpId{static_cast<int32_t>(i)});
  return operations;
}

std::vector<OpId> operations_of(const Pass& pass) {
  std::vector<OpId> operations;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1} && !contains(operations, step.op)) operations.push_back(step.op);
  }
  return operations;
}

int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                      const Storage& storage) {
  return storage_rules(storage.device).weights_bytes(graph, op, algorithm, storage.dtype);
}

int64_t resident_weights_bytes(const Graph& graph, const Storage& storage) {
  int64_t sum = 0;
  for (const Op& op : graph.ops()) sum += weights_bytes(graph, op, ConvolutionAlgorithm::direct, storage);
  return sum;
}

int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, const ConvolutionAlgorithms& algorithms,
                           WeightResidency residency, const Storage& storage) {
  int64_t sum = 0;
  for (OpId id : operations_of(pass)) {
    const Op& op = graph.op(id);
    if (residency == WeightResidency::per_pass) {
      sum += weights_bytes(graph, op, algorithms.of(id), storage);
    } else if (runs_winograd(graph, algorithms, id)) {
      sum += kernel_shape(graph, op).floats(ConvolutionAlgorithm::winograd) * int64_t{sizeof(float)};
    }
  }
  return sum;
}

int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass) {
  const Storage storage = storage_of(plan.request);
  const bool resident = plan.weights == WeightResidency::resident;
  return (resident ? resident_weights_bytes(graph, storage) : 0) +
         pass_weights_bytes(graph, pass, pass.convolutions, plan.weights, storage);
}

}  // namespace headroom
