#include "decoder/schedule/step_shares.h"
#include "decoder/operations/operation.h"

#include "decoder/schedule/memory.h"

namespace headroom {
namespace {

/// Time of a step without FLOPs (a copy), relative to the time of all steps with FLOPs.
constexpr double kCopyShare = 0.01;

}  // namespace

std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes) {
  std::vector<double> shares;
  double flops = 0;
  for (const Step& step : pass.steps) {
    const Extent extent = largest_tile(graph, pass, step, tile, sizes);
    shares.push_back(step.op == OpId{-1} ? 0
                                         : double(positions(extent)) *
                                               flops_per_position(graph, graph.op(step.op), sizes.latent));
    flops += shares.back();
  }
  double sum = 0;
  for (double& share : shares) {
    if (share <= 0) share = flops > 0 ? flops * kCopyShare : 1;
    sum += share;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace headroom
