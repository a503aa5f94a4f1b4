#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "tests/support/random.h"

namespace headroom::test {

/// Settings for random decoders.
struct GraphStyle {
  int64_t operations = 20;  ///< minimum, unless `barriers` is reached first
  int64_t barriers = 4;     ///< maximum, not counting the last one
  int64_t most_channels = 24;
  int32_t most_scale = 2;  ///< of the picture relative to the latent
  double residual = 0.6;   ///< share of the blocks that are residual
  double long_skip = 0.3;  ///< share of the blocks that a skip from a distant earlier block follows
  double attention = 0.1;
  double upsample = 0.2;
  double odd = 0;              ///< share of the blocks that occur in no model family but are valid
  double cut_points = 0;       ///< share of the blocks that end at an optional cut point
  double past_cut_points = 0;  ///< share of these that skips from earlier cut points cross
  double edges = 0;  ///< share of the convolutions that do not pad with zeros; some kernels are wide
};

/// Residual blocks, attention, upsampling, plain convolutions, and skips from any earlier block.
class GraphMaker {
 public:
  GraphMaker(Random& random, const GraphStyle& style) : random_(random), style_(style) {}

  Model make() {
    model_.name = "random";
    model_.class_name = "AutoencoderKL";
    model_.latent_channels = 4;
    x_ = convolved("in", graph().add_latent(4), channels());
    earlier_.push_back(x_);
    while (barriers_ < style_.barriers && static_cast<int64_t>(graph().ops().size()) < style_.operations)
      add_block();
    graph().set_output(convolved("out", normed("norm_out", x_), 3));
    return std::move(model_);
  }

 private:
  Graph& graph() { return model_.graph; }
  int64_t channels() { return 4 * random_.integer(1, style_.most_channels / 4); }
  int64_t channels_of(TensorId id) { return graph().tensor(id).channels; }

  Edges edges() {
    if (style_.edges == 0 || !random_.chance(style_.edges)) return Edges::zeros;
    return random_.pick<Edges>({Edges::replicate, Edges::reflect});
  }

  TensorId convolved(const std::string& name, TensorId from, int64_t width) {
    Axes<int32_t> kernel{1, 3, 3};
    if (style_.edges > 0 && random_.chance(0.3))
      kernel = random_.pick<Axes<int32_t>>({{1, 5, 5}, {1, 1, 3}, {1, 5, 1}});
    return graph().conv(name, from, width, kernel, {.edges = edges()});
  }

  TensorId normed(const std::string& name, TensorId from) {
    ++barriers_;
    return graph().norm(name, from, graph().statistics(name + ".statistics", from, 2, 1e-6),
                        Activation::silu);
  }

  void add_block() {
    const std::string name = "part" + std::to_string(blocks_++);
    const double kind = random_.uniform(0, 1);
    if (style_.odd > 0 && random_.chance(style_.odd)) {
      add_odd(name);
    } else if (kind < style_.attention && barriers_ + 2 <= style_.barriers) {
      attend(name);
    } else if (kind < style_.attention + style_.upsample &&
               graph().tensor(x_).scale.y * 2 <= style_.most_scale) {
      if (random_.chance(0.5)) {
        x_ = convolved(name + ".conv", graph().upsample(name, x_, {1, 2, 2}), channels());
      } else {
        const Edges outside = edges();
        x_ = graph().upsampled_conv(name + ".conv", x_, channels(), {.edges = outside});
      }
    } else if (kind < style_.attention + style_.upsample + style_.residual) {
      add_residual(name);
    } else {
      const int64_t width = channels();
      x_ = convolved(name, random_.chance(0.5) ? normed(name + ".norm", x_) : x_, width);
    }
    if (random_.chance(style_.long_skip)) add_skip(name + ".skip");
    if (style_.cut_points > 0 && random_.chance(style_.cut_points)) {
      graph().add_cut_point(x_);
      // Otherwise no skip crosses the cut point.
      const bool reach = style_.past_cut_points > 0 && random_.chance(style_.past_cut_points);
      std::erase_if(earlier_, [&](TensorId id) { return !reach || !graph().tensor(id).cut_point; });
    }
    earlier_.push_back(x_);
  }

  void add_odd(const std::string& name) {
    const int64_t which = random_.integer(0, 4);
    if (which == 0 && graph().tensor(x_).scale.y * 2 <= style_.most_scale) {
      // A norm directly after upsampling. The tensor that it measures is never kept.
      x_ = graph().conv(name + ".conv", normed(name + ".norm", graph().upsample(name, x_, {1, 2, 2})),
                        channels(), {1, 3, 3});
    } else if (which == 1 && barriers_ + 2 <= style_.barriers) {
      // Keys, values and queries read the norm directly.
      const TensorId n = normed(name + ".norm", x_);
      ++barriers_;
      x_ = graph().add(name, graph().attention(name + ".mix", n, n, n), x_);
    } else if (which == 2 && barriers_ + 2 <= style_.barriers) {
      // A key that is the sum with a tensor that is kept.
      const TensorId n = normed(name + ".norm", x_);
      const TensorId q = graph().conv(name + ".q", n, channels_of(x_), {1, 1, 1});
      const TensorId k =
          graph().add(name + ".k", graph().conv(name + ".k.conv", n, channels_of(x_), {1, 1, 1}), x_);
      ++barriers_;
      x_ = graph().add(name, graph().attention(name + ".mix", q, k, n), x_);
    } else if (which == 3) {
      graph().conv(name + ".unread", x_, channels(), {1, 3, 3});
      x_ = graph().conv(name, x_, channels(), {1, 1, 1});
    } else if (graph().tensor(x_).scale.y == 1) {
      x_ = graph().add(name, graph().conv(name + ".conv", normed(name + ".norm", x_), 4, {1, 3, 3}),
                       graph().input());
    }
  }

  void attend(const std::string& name) {
    const TensorId n = normed(name + ".norm", x_);
    const int64_t width = channels_of(x_);
    const TensorId q = graph().conv(name + ".q", n, width, {1, 1, 1});
    const TensorId k = graph().conv(name + ".k", n, width, {1, 1, 1});
    const TensorId v = graph().conv(name + ".v", n, width, {1, 1, 1});
    ++barriers_;
    x_ = graph().add(
        name, graph().conv(name + ".out", graph().attention(name + ".mix", q, k, v), width, {1, 1, 1}), x_);
  }

  void add_residual(const std::string& name) {
    const int64_t wide = random_.chance(0.5) ? channels_of(x_) : channels();
    TensorId h = convolved(name + ".conv1", normed(name + ".norm1", x_), wide);
    if (random_.chance(0.7) && barriers_ < style_.barriers) {
      h = convolved(name + ".conv2", normed(name + ".norm2", h), wide);
    }
    x_ = graph().add(name, h,
                     wide == channels_of(x_) ? x_ : graph().conv(name + ".shortcut", x_, wide, {1, 1, 1}));
  }

  /// Adds an earlier block's output. A convolution and upsampling adapt its shape if necessary.
  void add_skip(const std::string& name) {
    TensorId from = random_.pick(earlier_);
    if (from == x_) return;
    const int32_t factor = graph().tensor(x_).scale.y / graph().tensor(from).scale.y;
    if (channels_of(from) != channels_of(x_) || random_.chance(0.4)) {
      const int32_t side = random_.pick<int32_t>({1, 3});
      from = graph().conv(name + ".conv", from, channels_of(x_), {1, side, side}, {.edges = edges()});
    }
    if (factor > 1) from = graph().upsample(name + ".up", from, {1, factor, factor});
    x_ = random_.chance(0.5) ? graph().add(name, x_, from) : graph().add(name, from, x_);
  }

  Random& random_;
  const GraphStyle style_;
  Model model_;
  TensorId x_{-1};
  std::vector<TensorId> earlier_;  ///< output of each block
  int64_t barriers_ = 0, blocks_ = 0;
};

inline Model random_model(Random& random, const GraphStyle& style) {
  return GraphMaker(random, style).make();
}

/// Residual blocks, a few upsamplings, some attention, and occasional skips from any earlier block.
inline Model large_model(Random& random, int64_t operations = 500, double long_skip = 0.1) {
  return random_model(random, {.operations = operations,
                               .barriers = 1 << 20,
                               .most_channels = 64,
                               .most_scale = 8,
                               .residual = 0.8,
                               .long_skip = long_skip,
                               .attention = 0.02,
                               .upsample = 0.05});
}

}  // namespace headroom::test
