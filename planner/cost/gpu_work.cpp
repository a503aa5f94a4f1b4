#include "planner/cost/gpu_work.h"

#include "decoder/graph/geometry.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"
#include "planner/cost/device_costs.h"

namespace headroom::planner {
namespace {

/// Positions covered by one block of a convolution.
constexpr int64_t kBlockPositions = 128;

/// Kernels that fill a tile's halo beyond the picture, one for each side. Two are right for a tile as wide as
/// the picture. A tile in the middle needs none, a single tile for the whole picture needs four.
constexpr int64_t kFillKernels = 2;

/// Output channels that a block covers, and its speed relative to the largest block. Smaller blocks are
/// slower because each input serves fewer outputs.
struct BlockOutputs {
  int64_t outputs;
  double share;
};

BlockOutputs block_outputs(int64_t outputs) {
  if (outputs > 128) return {128, 1};
  if (outputs > 64) return {128, 0.85};
  if (outputs > 32) return {64, 0.6};
  return {32, 0.35};
}

/// For fewer inputs cuDNN prefers an fp32 engine that is slower for more.
constexpr int64_t kFewestWideInputs = 16;

/// Kernels after a convolution's own that rewrite its output.
int32_t rewrites_of(const Op& op) {
  if (op.kind != OpKind::conv) return 0;
  return (op.factor.y > 1 ? 1 : 0) + (op.activation != Activation::none ? 1 : 0);
}

/// Keys, values, sums and statistics are small and read repeatedly, so they come from caches.
bool is_cached(const Graph& graph, const Op& op, size_t input) {
  return graph.tensor(op.inputs[input]).statistics || (is_barrier(op, input) && op.kind == OpKind::attention);
}

}  // namespace

int64_t FrameCalls::frames_at_once(const CallExtent& extent) const {
  if (by_frame) return 1;
  const int64_t most = std::max<int64_t>(1, extent.frames);
  if (phase_bytes == 0) return most;
  return std::clamp<int64_t>(gpu::kPhasesTogether / std::max<int64_t>(1, extent.area * phase_bytes), 1, most);
}

int64_t FrameCalls::least_calls(const CallExtent& extent) const {
  if (phase_bytes == 0) return calls(extent);
  return std::min(extent.frames, ceil_divide(extent.positions() * phase_bytes, gpu::kPhasesTogether));
}

FrameCalls frame_calls(const Graph& graph, const Step& step, const Sizes& sizes) {
  switch (step.kind) {
    case OpKind::statistics:
    case OpKind::attention:
    case OpKind::emit:
      return {.by_frame = true};
    case OpKind::conv: {
      const Op& op = graph.op(step.op);
      if (op.factor.y == 1) return {};
      return {.phase_bytes = graph.tensor(op.output).channels * bytes_per_element(sizes.dtype)};
    }
    default:
      return {};
  }
}

StepWork::StepWork(const GpuCard& card, const Graph& graph, const Step& step, const Sizes& sizes)
    : multiprocessors_(card.multiprocessors), frame_calls_(frame_calls(graph, step, sizes)) {
  if (step.op == OpId{-1}) return;
  const Op& op = graph.op(step.op);
  if (!counts_flops(op)) return;
  const double flops = flops_per_position(graph, op, sizes.latent);
  const bool tf32 = may_use_tf32(op, sizes.tf32);
  const bool plain = op.kind == OpKind::conv && op.groups == 1;
  if (!plain && op.kind != OpKind::attention) {
    seconds_per_position_ = flops / card.narrow_flops_per_second;
  } else if (op.kind == OpKind::attention) {
    seconds_per_position_ = flops / card.attention_rate(sizes.dtype, tf32);
  } else if (op.stride != Axes<int32_t>{1, 1, 1}) {
    // Our own kernel without tensor cores.
    seconds_per_position_ = flops / card.fp32_narrow_convolution_flops_per_second;
  } else if (sizes.dtype == Dtype::fp32 && !tf32) {
    const bool is_narrow = graph.tensor(op.inputs[0]).channels < kFewestWideInputs;
    seconds_per_position_ = flops / (is_narrow ? card.fp32_narrow_convolution_flops_per_second
                                               : card.fp32_convolution_flops_per_second);
  } else {
    const int64_t outputs = graph.tensor(op.output).channels;
    const BlockOutputs block = block_outputs(outputs);
    const double products = flops / (2 * double(outputs));
    const double rate = card.convolution_rate(sizes.dtype, tf32) * block.share * products /
                        (products + card.pipeline_products);
    seconds_per_position_ = flops / rate;
    waves_.blocks_across = ceil_divide(outputs, block.outputs);
    waves_.wave_seconds = double(multiprocessors_ * kBlockPositions * block.outputs) * 2 * products / rate;
    waves_.phases = op.factor.y > 1 ? op.factor.y * op.factor.x : 1;
  }
}

double StepWork::wave_seconds(const CallExtent& call) const {
  const int64_t calls = waves_.phases * frame_calls_.calls(call);
  const int64_t positions = frame_calls_.frames_at_once(call) * ceil_divide(call.area, waves_.phases);
  const int64_t blocks = ceil_divide(positions, kBlockPositions) * waves_.blocks_across;
  return double(calls * ceil_divide(blocks, multiprocessors_)) * waves_.wave_seconds;
}

double StepTraffic::moved() const {
  double bytes = written * (1 + 2 * rewrites);
  for (const Read& read : reads) bytes += read.bytes;
  return bytes;
}

StepTraffic traffic_of(const Graph& graph, const Step& step, const Sizes& sizes) {
  const auto element = double(tile_element_bytes(sizes));
  const Tensor& measured = graph.tensor(measured_tensor(step));
  const double own = double(measured.channels) * element;
  StepTraffic bytes;
  bytes.keeps =
      step.kind == OpKind::store || step.kind == OpKind::accumulate || step.target != StepTarget::tile;
  if (makes_tile(step) || bytes.keeps) bytes.written = own;
  if (step.kind == OpKind::emit) bytes.emitted = double(measured.channels) * double(sizeof(float));
  if (step.op == OpId{-1}) {
    bytes.reads.push_back({step.inputs.at(0), own});
    return bytes;
  }
  const Op& op = graph.op(step.op);
  bytes.rewrites = rewrites_of(op);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!is_residual(step, i) && is_cached(graph, op, i)) continue;
    const Tensor& tensor = graph.tensor(step.inputs[i].tensor);
    const Axes<double> ratio = per_axis([](int32_t from, int32_t to) { return double(from) / double(to); },
                                        tensor.scale, measured.scale);
    bytes.reads.push_back({step.inputs[i], double(tensor.channels) * element * ratio.t * ratio.y * ratio.x});
  }
  return bytes;
}

int64_t kernels_of(const Graph& graph, const Step& step, int64_t calls, const Sizes& sizes) {
  const int64_t fills = step.edges != Edges::zeros ? kFillKernels : 0;
  switch (step.kind) {
    case OpKind::conv: {
      const Op& op = graph.op(step.op);
      // In each call one kernel per phase, and one that interleaves the phases.
      const int64_t own = op.factor.y > 1 ? calls * (op.factor.y * op.factor.x + 1) : 1;
      const int64_t copies = op.convolution.keeps_first_frame ? 1 : 0;
      return sizes.items * (own + copies + (op.activation != Activation::none ? 1 : 0) + fills);
    }
    case OpKind::statistics:
    case OpKind::attention:
    case OpKind::emit:
      return sizes.items * calls;
    default:
      return sizes.items * (1 + fills);
  }
}

}  // namespace headroom::planner
