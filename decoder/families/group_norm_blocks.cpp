#include "decoder/families/group_norm_blocks.h"

namespace headroom {
namespace {

constexpr double kGroupNormEpsilon = 1e-6;

}  // namespace

TensorId GroupNormBlocks::conv(const std::string& name, TensorId x, int64_t channels, int32_t side) {
  return graph_.conv(name + convolutions_.module, x, channels,
                     {convolutions_.kernel_frames(side), side, side}, convolutions_.traits);
}

TensorId GroupNormBlocks::upsampled_conv(const std::string& name, TensorId x, int64_t channels) {
  return graph_.upsampled_conv(name + convolutions_.module, x, channels, convolutions_.traits,
                               convolutions_.kernel_frames(3));
}

TensorId GroupNormBlocks::normalised(const std::string& name, TensorId x, Activation activation) {
  const TensorId statistics =
      graph_.statistics(name + ".statistics", x, groups_, kGroupNormEpsilon, by_frame_);
  return graph_.norm(name, x, statistics, activation);
}

TensorId GroupNormBlocks::resnet(const std::string& name, TensorId x, int64_t channels) {
  TensorId h = normalised(name + ".norm1", x, activation_);
  h = conv(name + ".conv1", h, channels, 3);
  h = normalised(name + ".norm2", h, activation_);
  h = conv(name + ".conv2", h, channels, 3);
  const bool same = graph_.tensor(x).channels == channels;
  const TensorId shortcut = same ? x : conv(name + ".conv_shortcut", x, channels, 1);
  return graph_.add(name, h, shortcut);
}

TensorId GroupNormBlocks::attention(const std::string& name, TensorId x, const AttentionKind& kind) {
  const TensorId normed = normalised(name + "." + kind.norm, x, Activation::none);
  AttentionModules modules;
  modules.q.module = name + ".to_q";
  modules.k.module = name + ".to_k";
  modules.v.module = name + ".to_v";
  modules.out = name + "." + kind.output;
  modules.linear = kind.linear;
  modules.frames = kind.frames;
  return graph_.add(name, graph_.self_attention(name, normed, modules), x);
}

}  // namespace headroom
