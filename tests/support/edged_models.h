#pragma once

#include <string>

#include "tests/support/random_graph.h"

namespace headroom::test {

/// A few convolutions over frames, rows and columns with random padding modes. A different kind of operation
/// precedes each of them and makes its input tile.
inline Model random_edged_clips(Random& random) {
  Model model;
  model.name = "random clips";
  model.class_name = "AutoencoderKLWan";
  model.latent_channels = 4;
  model.decodes_clips = true;
  Graph& graph = model.graph;
  TensorId x = graph.add_latent(4);
  const auto traits = [&](int32_t groups) {
    ConvolutionTraits all{.groups = groups, .over_frames = true};
    all.edges = random.pick<Edges>({Edges::zeros, Edges::replicate, Edges::replicate, Edges::reflect});
    all.before_first = random.pick<BeforeFirst>({BeforeFirst::zeros, BeforeFirst::first_frame});
    return all;
  };
  // A kernel of `frames` taps over time, some of which may read later frames.
  const auto over_frames = [&](int32_t frames) {
    ConvolutionTraits all = traits(1);
    all.frames_ahead = static_cast<int32_t>(random.integer(0, frames - 1));
    return all;
  };
  const int64_t blocks = random.integer(2, 4);
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string name = "part" + std::to_string(i);
    const int64_t width = random.pick<int64_t>({4, 8, 16}), before = random.integer(0, 4);
    const bool upsamples = graph.tensor(x).scale.y == 1;
    if (before == 0 && random.chance(0.3))
      x = graph.layer_norm(name + ".norm", x, 1e-6, Activation::silu);
    else if (before == 0)
      x = graph.rms_norm(name + ".norm", x, 1e-6, Activation::silu,
                         random.chance(0.5) ? kNoParameters : kWeightAndBias);
    if (before == 1) x = graph.activate(name + ".clamp", x, Activation::soft_clamp);
    if (before == 2) x = graph.gate(name + ".gate", x);
    if (before == 3)
      x = graph.norm(name + ".norm", x, graph.statistics(name + ".statistics", x, 1, 1e-6), Activation::silu);
    if (before == 4 && upsamples) x = graph.upsample(name + ".up", x, {1, 2, 2});
    // Sometimes a second convolution, with other edges, reads the tensor too.
    const TensorId beside =
        random.chance(0.4) ? graph.conv(name + ".beside", x, width, {1, 5, 3}, traits(1)) : TensorId{-1};
    if (random.chance(0.3) && graph.tensor(x).scale.y == 1)
      x = graph.upsampled_conv(name + ".conv", x, width, {.edges = traits(1).edges});
    else if (random.chance(0.2))
      x = graph.conv(name + ".conv", x, graph.tensor(x).channels, {1, 3, 3},
                     traits(static_cast<int32_t>(graph.tensor(x).channels)));
    else {
      const auto frames = random.pick<int32_t>({1, 2, 3});
      x = graph.conv(name + ".conv", x, width, {frames, 3, 3}, over_frames(frames));
    }
    const bool alike = beside != TensorId{-1} && graph.tensor(x).scale == graph.tensor(beside).scale &&
                       graph.tensor(x).channels == graph.tensor(beside).channels;
    if (alike) x = graph.add(name, x, beside);
  }
  graph.set_output(graph.conv("out", x, 3, {3, 3, 3}, over_frames(3)));
  return model;
}

/// Residual blocks and skips. Their convolutions pad with zeros, or with copies of values at the edge.
inline Model random_edged_pictures(Random& random) {
  GraphStyle style{
      .operations = random.integer(4, 14), .barriers = random.integer(1, 3), .most_channels = 16};
  style.attention = 0;
  style.upsample = 0.4;
  style.edges = random.pick<double>({0.6, 1});
  return random_model(random, style);
}

/// Random model of one of the two kinds.
inline Model random_edged_model(Random& random) {
  return random.chance(0.5) ? random_edged_pictures(random) : random_edged_clips(random);
}

/// Lists the operations and the edges of convolutions, for test messages.
inline std::string edges_of(const Graph& graph) {
  std::string text;
  for (const Op& op : graph.ops()) {
    text += op.name;
    if (op.kind == OpKind::conv) text += std::string(" ") + name_of(op.convolution.edges);
    text += "; ";
  }
  return text;
}

}  // namespace headroom::test
