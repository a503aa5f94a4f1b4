#pragma once

#include <string>
#include <vector>

#include "decoder/graph/graph.h"

// Parameters of operations, and their work.
namespace headroom {

/// Shapes of an operation's parameters.
struct Parameter {
  std::string name;  ///< as in the weights file
  /// Convolutions: {out, in, kt, ky, kx} without the leading axes of extent 1 in 2-D models.
  std::vector<int64_t> shape;
};
std::vector<Parameter> parameters_of(const Graph& graph, const Op& op);
/// Elements of all parameters of the operation.
int64_t parameter_elements(const Graph& graph, const Op& op);
int64_t parameter_elements(const Graph& graph);

/// Floating-point operations for one output position (all channels). A multiply-add counts as two.
/// Convolutions count as the direct algorithm does, with upsampling as its phases do. For attention, `latent`
/// determines the number of keys. If the number differs between frames, the average counts.
double flops_per_position(const Graph& graph, const Op& op, const Extent& latent);

/// Channels of q, of k and of v in each head of key_value_sums or linear_attention.
int64_t head_channels(const Graph& graph, const Op& op);

}  // namespace headroom
