#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "tests/support/random.h"

namespace headroom::test {

/// A small video decoder with HunyuanVideo's structure. Convolutions over time surround causal attention,
/// then upsampling follows. With `over_all_frames`, statistics cover all frames, so early frames depend on
/// late ones. Otherwise each frame depends only on itself and earlier frames.
inline Model causal_attention_model(int64_t channels, bool over_all_frames, bool twice = false) {
  Model model;
  model.name = "causal attention";
  model.class_name = "AutoencoderKLHunyuanVideo";
  model.latent_channels = 4;
  model.decodes_clips = true;
  Graph& graph = model.graph;
  const auto normed = [&](const std::string& name, TensorId x) {
    if (!over_all_frames) return graph.rms_norm(name, x, 1e-6, Activation::silu);
    return graph.norm(name, x, graph.statistics(name + ".statistics", x, 2, 1e-6), Activation::silu);
  };
  const auto attend = [&](const std::string& name, TensorId x) {
    const TensorId n = normed(name + ".norm", x);
    const TensorId q = graph.conv(name + ".q", n, channels, {1, 1, 1}),
                   k = graph.conv(name + ".k", n, channels, {1, 1, 1}),
                   v = graph.conv(name + ".v", n, channels, {1, 1, 1});
    const TensorId mixed = graph.attention(name + ".attention", q, k, v, AttentionFrames::up_to_own);
    return graph.add(name, graph.conv(name + ".out", mixed, channels, {1, 1, 1}), x);
  };
  const auto over_time = [&](const std::string& name, TensorId x, int64_t outputs) {
    return graph.conv(name, normed(name + ".norm", x), outputs, {3, 3, 3}, {.over_frames = true});
  };
  TensorId x = graph.conv("in", graph.add_latent(4), channels, {3, 3, 3}, {.over_frames = true});
  x = attend("mid", x);
  x = graph.add("block", over_time("block.conv", x, channels), x);
  if (twice) x = attend("again", x);
  x = graph.upsampled_conv("up", x, channels);
  graph.set_output(over_time("out", x, 3));
  return model;
}

inline Model random_causal_attention_model(Random& random) {
  const int64_t channels = 4 * random.integer(1, 5);
  const bool over_all_frames = random.chance(0.5);
  return causal_attention_model(channels, over_all_frames, random.chance(0.3));
}

}  // namespace headroom::test
