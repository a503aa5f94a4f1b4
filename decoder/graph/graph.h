#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/axes.h"

namespace headroom {

enum class TensorId : int32_t {};
enum class OpId : int32_t {};
constexpr size_t index(TensorId id) {
  return static_cast<size_t>(id);
}
constexpr size_t index(OpId id) {
  return static_cast<size_t>(id);
}

/// Whether a list of ids has this one. Lists of a pass or a frontier are short.
template <typename Id>
bool contains(const std::vector<Id>& list, Id id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

enum class Dtype { fp32, bf16, fp16 };
int64_t bytes_per_element(Dtype dtype);
const char* name_of(Dtype dtype);
/// Throws InputError unless `text` is fp32, bf16 or fp16.
Dtype parse_dtype(const std::string& text);

/// A value that flows through the decoder, written N×C×T×H×W. Its positions are the latent's times `scale`.
/// Statistics have no positions: they are `channels` (mean, 1/deviation) pairs per batch item.
struct Tensor {
  std::string name;
  int64_t channels = 0;
  Axes<int32_t> scale{1, 1, 1};
  bool statistics = false;
  OpId producer{-1};  ///< -1 for the latent
};

enum class OpKind {
  conv,      ///< {x} -> y: convolution, stride 1, zero padding that keeps the extent; of x repeated `factor`
             ///< times along each axis (nearest upsampling), which is never made whole
  upsample,  ///< {x} -> y: nearest, by `factor`
  statistics,  ///< {x} -> s: mean and deviation over each group of channels and all positions; a barrier
  norm,        ///< {x, s} -> y: (x - mean) / deviation * weight + bias, then `activation`
  add,         ///< {a, b} -> y
  attention,   ///< {q, k, v} -> y: one head over all positions of k and v; a barrier on both
};
const char* name_of(OpKind kind);

enum class Activation { none, silu, relu, gelu, mish };

/// One operation. Parameters are named as diffusers names them: `<name>.weight` and `<name>.bias`.
struct Op {
  std::string name;
  OpKind kind{};
  std::vector<TensorId> inputs{};
  TensorId output{-1};
  Axes<int32_t> kernel{1, 1, 1};  ///< conv: odd along every axis
  Axes<int32_t> factor{1, 1, 1};  ///< upsample, conv
  int32_t groups = 0;             ///< statistics, norm
  double epsilon = 0;             ///< statistics
  Activation activation = Activation::none;
};

/// A decoder as operations over tensors: no weights, no sizes. Operations stand in topological order.
class Graph {
 public:
  /// The latent. Called once, first.
  TensorId add_latent(int64_t channels);
  TensorId conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel);
  /// A 3×3 convolution of x upsampled by 2 along rows and columns: four phases with 2×2 kernels on x itself.
  TensorId upsampled_conv(const std::string& name, TensorId x, int64_t channels);
  TensorId upsample(const std::string& name, TensorId x, Axes<int32_t> factor);
  TensorId statistics(const std::string& name, TensorId x, int32_t groups, double epsilon);
  TensorId norm(const std::string& name, TensorId x, TensorId statistics, Activation activation);
  TensorId add(const std::string& name, TensorId a, TensorId b);
  TensorId attention(const std::string& name, TensorId q, TensorId k, TensorId v);
  void set_output(TensorId tensor) { output_ = tensor; }

  TensorId latent() const { return TensorId{0}; }
  TensorId output() const { return output_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Op>& ops() const { return ops_; }
  const Tensor& tensor(TensorId id) const { return tensors_[index(id)]; }
  const Op& op(OpId id) const { return ops_[index(id)]; }
  /// Null for the latent.
  const Op* producer(TensorId id) const;
  /// Operations that read the tensor.
  const std::vector<OpId>& readers(TensorId id) const { return readers_[index(id)]; }
  /// Returns -1 where no tensor has this name.
  TensorId find_tensor(const std::string& name) const;
  /// Returns -1 where no operation has this name.
  OpId find_op(const std::string& name) const;

 private:
  TensorId append(Op op, int64_t channels, Axes<int32_t> scale, bool statistics = false);
  std::vector<Tensor> tensors_;
  std::vector<Op> ops_;
  std::vector<std::vector<OpId>> readers_;
  TensorId output_{-1};
};

/// How far beyond an output position an operation reads in input `input`, in that input's own positions.
/// Upsampling reads no further than the position it repeats; behind it a convolution of 3 reads one further.
Halo reach(const Op& op, size_t input);

/// True where input `input` is needed over its whole extent before any output exists.
bool is_barrier(const Op& op, size_t input);

/// The region of input `input` that an output region needs, not clipped to the picture.
/// Not for barrier inputs.
Region needed_region(const Graph& graph, const Op& op, size_t input, const Region& output);

/// Positions of a tensor for a latent of this extent.
Extent extent_of(const Tensor& tensor, const Extent& latent);
/// Bytes of a whole tensor: 64-bit throughout, since an 8192×8192 picture passes 2^31 elements.
int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype);

/// Shapes of an operation's parameters.
struct Parameter {
  std::string name;  ///< as in the weights file
  std::vector<int64_t>
      shape;  ///< convolutions: {out, in, kt, ky, kx} without the leading axes of extent 1 in 2-D models
};
std::vector<Parameter> parameters_of(const Graph& graph, const Op& op);
/// Elements of all parameters of the operation.
int64_t parameter_elements(const Graph& graph, const Op& op);
int64_t parameter_elements(const Graph& graph);

/// Floating-point operations for one output position (all channels), multiply and add counted separately; of
/// convolutions those of the direct form, over upsampling by phases.
/// Attention depends on the number of keys: `latent` gives their extent.
double flops_per_position(const Graph& graph, const Op& op, const Extent& latent);

/// For each tensor, the number of barriers on the longest path from the latent to it. Tensors of one depth
/// can be computed in one pass; the next depth needs a pass of its own.
std::vector<int32_t> barrier_depths(const Graph& graph);

}  // namespace headroom
