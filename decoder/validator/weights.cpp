#include <algorithm>
#include <set>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

/// Alignment of every parameter.
constexpr int64_t kWeightBoundaryBytes = 64;
constexpr int64_t kCudaBoundaryBytes = 256;
constexpr int64_t kWeightBytes = 4;
constexpr int64_t kOutputUnit = 16;

int64_t on_boundary(int64_t bytes) {
  return multiply((bytes - 1) / kWeightBoundaryBytes + 1, kWeightBoundaryBytes);
}

/// True for kernels that Winograd's algorithm packs differently: 3×3, not grouped, with at least 16 input
/// channels.
bool changes_algorithm(const View& view, const Op& op) {
  return op.kind == OpKind::conv && op.stride == Axes<int32_t>{1, 1, 1} && op.kernel.y == 3 &&
         op.kernel.x == 3 && op.groups == 1 && view.graph.tensor(op.inputs[0]).channels >= 16;
}

/// Bytes of a packed kernel: `matrices` matrices [inputs × outputs], with outputs padded to 16.
int64_t kernel_bytes(const View& view, const Op& op, int64_t matrices) {
  const int64_t outputs = view.graph.tensor(op.output).channels;
  const int64_t padded = multiply((outputs - 1) / kOutputUnit + 1, kOutputUnit);
  return multiply(multiply(multiply(matrices, view.graph.tensor(op.inputs[0]).channels), padded),
                  kWeightBytes);
}

/// Bytes of a grouped kernel: one kernel per group. In a depthwise kernel, channels are adjacent and padded
/// together.
int64_t grouped_bytes(const View& view, const Op& op) {
  const int64_t inputs = view.graph.tensor(op.inputs[0]).channels;
  const int64_t outputs = view.graph.tensor(op.output).channels;
  const bool depthwise = op.groups == inputs && op.groups == outputs;
  const int64_t rows = depthwise ? 1 : inputs;
  const int64_t across = depthwise ? outputs : outputs / op.groups;
  const int64_t padded = multiply((across - 1) / kOutputUnit + 1, kOutputUnit);
  return multiply(multiply(multiply(op.kernel.y, op.kernel.x), multiply(rows, padded)), kWeightBytes);
}

/// Number of matrices: Winograd's algorithm has 6×6 products, or 8×8 over upsampling by 2. The direct
/// algorithm has one per tap, or over upsampling 2×2 taps for each of 2×2 phases.
int64_t winograd_bytes(const View& view, const Op& op) {
  return kernel_bytes(view, op, multiply(op.kernel.t, op.factor.y > 1 ? 64 : 36));
}
int64_t direct_bytes(const View& view, const Op& op) {
  if (op.groups > 1) return grouped_bytes(view, op);
  return kernel_bytes(view, op,
                      multiply(op.kernel.t, op.factor.y > 1 ? 16 : multiply(op.kernel.y, op.kernel.x)));
}

/// Bytes on CUDA. Convolutions have one weight per output, tap and input of a group, in the dtype. Over
/// upsampling they have four kernels of 2×2 taps. Norms are in fp32.
int64_t bytes_on_cuda(const View& view, const Op& op) {
  const auto from_boundary = [](int64_t bytes) {
    return multiply((bytes - 1) / kCudaBoundaryBytes + 1, kCudaBoundaryBytes);
  };
  const int64_t outputs = view.graph.tensor(op.output).channels;
  if (op.kind == OpKind::norm || op.kind == OpKind::rms_norm)
    return multiply(2, from_boundary(multiply(outputs, kWeightBytes)));
  if (op.kind != OpKind::conv) return 0;
  const int64_t stored = view.plan.request.dtype == Dtype::fp32 ? kWeightBytes : kWeightBytes / 2;
  const int64_t taps = op.factor.y > 1 ? 4 * 4 : multiply(op.kernel.y, op.kernel.x);
  const int64_t inputs = view.graph.tensor(op.inputs[0]).channels / op.groups;
  const int64_t weights = multiply(multiply(outputs, multiply(op.kernel.t, taps)), inputs);
  return add(from_boundary(multiply(weights, stored)), from_boundary(multiply(outputs, stored)));
}

/// All parameters of an operation, its kernel packed for this algorithm.
int64_t bytes_of(const View& view, const Op& op, ConvolutionAlgorithm algorithm) {
  if (view.on_cuda()) return bytes_on_cuda(view, op);
  const int64_t channels = on_boundary(multiply(view.graph.tensor(op.output).channels, kWeightBytes));
  if (op.kind == OpKind::norm || op.kind == OpKind::rms_norm) return multiply(channels, 2);
  if (op.kind != OpKind::conv) return 0;
  const bool winograd = algorithm == ConvolutionAlgorithm::winograd && changes_algorithm(view, op);
  return add(channels, on_boundary(winograd ? winograd_bytes(view, op) : direct_bytes(view, op)));
}

/// Bytes of parameters that a pass loads. An operation counts once, even if several steps run it. With
/// resident weights, a pass loads only Winograd kernels.
int64_t brought_bytes(const View& view, const Pass& pass) {
  std::set<OpId> ops;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1}) ops.insert(step.op);
  }
  int64_t sum = 0;
  for (OpId id : ops) {
    const Op& op = view.graph.op(id);
    if (view.plan.weights == WeightResidency::per_pass) {
      sum = add(sum, bytes_of(view, op, pass.convolutions.of(id)));
    } else if (pass.convolutions.of(id) == ConvolutionAlgorithm::winograd && changes_algorithm(view, op)) {
      sum = add(sum, winograd_bytes(view, op));
    }
  }
  return sum;
}

/// Checks weights in pinned host memory. Only plans that load weights per pass on a GPU use it, and then for
/// all weights.
void check_host_weights(View& view, int64_t all_bytes) {
  const Plan& plan = view.plan;
  if (plan.host_weights_bytes == 0) return;
  const bool brought = view.on_cuda() && plan.weights == WeightResidency::per_pass;
  const int64_t expected = brought ? all_bytes : 0;
  if (plan.host_weights_bytes == expected) return;
  view.findings.add(Violation::malformed, "host_weights_bytes",
                    "expected 0" + (brought ? " or " + std::to_string(expected) : std::string()) +
                        ", found " + std::to_string(plan.host_weights_bytes));
}

}  // namespace

std::vector<int64_t> check_weights(View& view) {
  const Plan& plan = view.plan;
  int64_t all = 0;
  for (const Op& op : view.graph.ops()) all = add(all, bytes_of(view, op, ConvolutionAlgorithm::direct));
  check_host_weights(view, all);
  const int64_t resident = plan.weights == WeightResidency::resident ? all : 0;
  std::vector<int64_t> by_pass;
  for (const Pass& pass : plan.passes) by_pass.push_back(add(resident, brought_bytes(view, pass)));
  const int64_t needed = *std::max_element(by_pass.begin(), by_pass.end());
  if (plan.weights_bytes < needed) {
    view.findings.add(
        Violation::peak_understated, "weights_bytes",
        "parameters take " + std::to_string(needed) + " bytes, found " + std::to_string(plan.weights_bytes));
  }
  return by_pass;
}

}  // namespace headroom::validation
