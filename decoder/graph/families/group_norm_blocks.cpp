#include "decoder/graph/families/group_norm_blocks.h"

namespace headroom {
namespace {

constexpr double kGroupNormEpsilon = 1e-6;

}  // namespace

TensorId GroupNormBlocks::normalised(const std::string& name, TensorId x, Activation activation) {
  const TensorId statistics = graph_.statistics(name + ".statistics", x, groups_, kGroupNormEpsilon);
  return graph_.norm(name, x, statistics, activation);
}

TensorId GroupNormBlocks::resnet(const std::string& name, TensorId x, int64_t channels) {
  TensorId h = normalised(name + ".norm1", x, activation_);
  h = graph_.conv(name + ".conv1", h, channels, {1, 3, 3});
  h = normalised(name + ".norm2", h, activation_);
  h = graph_.conv(name + ".conv2", h, channels, {1, 3, 3});
  const bool same = graph_.tensor(x).channels == channels;
  const TensorId shortcut = same ? x : graph_.conv(name + ".conv_shortcut", x, channels, {1, 1, 1});
  return graph_.add(name, h, shortcut);
}

TensorId GroupNormBlocks::attention(const std::string& name, TensorId x, const AttentionNames& names) {
  const int64_t channels = graph_.tensor(x).channels;
  const TensorId normed = normalised(name + "." + names.norm, x, Activation::none);
  const TensorId q = graph_.conv(name + ".to_q", normed, channels, {1, 1, 1});
  const TensorId k = graph_.conv(name + ".to_k", normed, channels, {1, 1, 1});
  const TensorId v = graph_.conv(name + ".to_v", normed, channels, {1, 1, 1});
  const TensorId mixed = graph_.attention(name + ".attention", q, k, v);
  return graph_.add(name, graph_.conv(name + "." + names.output, mixed, channels, {1, 1, 1}), x);
}

}  // namespace headroom
