#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "tests/support/activated.h"
#include "tests/support/random.h"

namespace headroom::test {

/// Draws a model around one operation of a kind: the operation with random attributes, and those before it
/// that it needs.
class OperationModel {
 public:
  /// `strided`: a convolution with a stride.
  OperationModel(OpKind kind, Random& random, bool strided) : random_(random) {
    model_.name = name_of(kind);
    model_.class_name = "none";
    model_.decodes_clips = random.chance(0.6);
    const bool halves = strided || kind == OpKind::norm || kind == OpKind::gate ||
                        kind == OpKind::unfold_frames || kind == OpKind::space_to_depth;
    channels_ = 2 * random.integer(1, 12) - (!halves && random.chance(0.4) ? 1 : 0);
    // Now and then more than a thread block of a GPU covers at once. Such a model has no wide convolutions.
    const bool few = kind == OpKind::conv || kind == OpKind::add || kind == OpKind::unfold_frames ||
                     kind == OpKind::modulate || kind == OpKind::space_to_depth;
    const bool wide =
        kind != OpKind::attention && kind != OpKind::linear_attention && !strided && random.chance(0.25);
    if (wide) channels_ = few ? 130 : random.pick<int64_t>({264, 520, 1152});
    model_.latent_channels = channels_;
    if (strided || kind == OpKind::space_to_depth) stride_ = stride();
    input_ = stride_ != Axes<int32_t>{1, 1, 1} ? graph().add_picture(channels_, stride_)
                                               : graph().add_latent(channels_);
    const bool on_input = wide || random.chance(0.5);
    x_ = on_input ? input_ : convolved("before", channels_);
    const TensorId made = strided ? strided_convolution() : make(kind);
    const bool followed = strided ? on_input : on_input || random.chance(0.5);
    const int32_t side = !strided && random.chance(0.5) ? 3 : 1;  // reads a halo of the operation
    graph().set_output(followed ? graph().conv("after", made, 3, {1, side, side}) : made);
  }
  const Model& model() const { return model_; }

 private:
  Graph& graph() { return model_.graph; }
  bool clips() const { return model_.decodes_clips; }
  Activation activation() { return any_activation(random_); }
  Edges edges() { return random_.pick<Edges>({Edges::zeros, Edges::replicate, Edges::reflect}); }
  TensorId convolved(const std::string& name, int64_t channels) {
    return graph().conv(name, input_, channels, {1, 1, 1});
  }
  int32_t groups() {
    return static_cast<int32_t>(random_.chance(0.5) ? 1 : random_.chance(0.5) ? channels_ / 2 : 2);
  }

  TensorId statistics() {
    if (random_.chance(0.3))
      return graph().statistics_of_runs("sums", x_, groups(), 1e-5, random_.pick<int32_t>({1, 2, 2}));
    return graph().statistics("sums", x_, groups(), 1e-5, random_.chance(0.5));
  }

  TensorId make(OpKind kind) {
    const bool in_time = clips() && random_.chance(0.5);
    switch (kind) {
      case OpKind::conv:
        return convolution();
      case OpKind::upsample:
        if (channels_ < 100 && random_.chance(0.5))
          return graph().upsampled_conv("op", x_, random_.pick<int64_t>({1, 3, 8, 20, 36}),
                                        {.edges = edges()});
        return graph().upsample("op", x_, {1, 2, 2});
      case OpKind::norm:
        return graph().norm("op", x_, statistics(), activation());
      case OpKind::add:
        return graph().add("op", x_, convolved("other", channels_), activation());
      case OpKind::attention:
        return attention();
      case OpKind::rms_norm:
        if (random_.chance(0.3)) return graph().layer_norm("op", x_, 1e-5, activation());
        return graph().rms_norm("op", x_, 1e-5, activation(),
                                random_.chance(0.5) ? kNoParameters : kWeightAndBias);
      case OpKind::interpolate: {
        const auto in_space = static_cast<int32_t>(in_time ? random_.integer(1, 2) : 2);
        return graph().interpolate("op", x_, {in_time ? 2 : 1, in_space, in_space});
      }
      case OpKind::unfold_frames:
        model_.decodes_clips = true;
        return graph().unfold_frames(
            "op", x_,
            graph().conv("rest", input_, 2 * channels_, {3, 1, 1},
                         {.over_frames = true, .before_first = BeforeFirst::zeros_instead_of_first_frame}));
      case OpKind::gate:
        return graph().gate("op", x_);
      case OpKind::modulate:
        return graph().modulate("op", x_, convolved("factors", 2 * channels_), activation());
      case OpKind::depth_to_space:
        return depth_to_space(in_time);
      case OpKind::space_to_depth:
        return space_to_depth();
      case OpKind::linear_attention:
        return linear_attention();
      case OpKind::activate:
        return graph().activate("op", x_, activation());
      default:
        return input_;
    }
  }

  TensorId convolution() {
    const Edges edges = this->edges();
    if (random_.chance(0.25)) return of_several_parameters(edges);
    const auto width = random_.pick<int64_t>({1, 3, 8, 20, 36, 150});
    if (random_.chance(0.25)) return graph().upsampled_conv("op", x_, width, {.edges = edges});
    const auto frames = static_cast<int32_t>(clips() ? random_.integer(1, 3) : 1);
    ConvolutionTraits traits{.activation = activation(), .over_frames = frames > 1, .edges = edges};
    if (frames > 1 && random_.chance(0.5)) traits.before_first = BeforeFirst::first_frame;
    if (frames > 1 && random_.chance(0.7))
      traits.frames_ahead = static_cast<int32_t>(random_.integer(0, frames - 1));
    const auto rows = random_.pick<int32_t>({1, 3, 5}), columns = random_.pick<int32_t>({1, 3});
    if (frames > 1 || random_.chance(0.6))
      return graph().conv("op", x_, width, {frames, rows, columns}, traits);
    traits.groups = static_cast<int32_t>(random_.chance(0.5) || channels_ % 2 == 1 ? channels_ : 2);
    return graph().conv("op", x_, channels_, {1, rows, columns}, traits);
  }

  /// A kernel that is stacked, normalised or added to its repeated input when weights are loaded.
  TensorId of_several_parameters(Edges edges) {
    ConvolutionTraits traits{.activation = activation(), .edges = edges};
    traits.bias = random_.chance(0.5);
    const int64_t outputs = channels_ * (channels_ > 100 ? 1 : random_.integer(1, 3));
    const bool upsamples = random_.chance(0.3);
    traits.shortcut = random_.chance(0.5);
    if (upsamples) return graph().upsampled_conv("op", x_, outputs, traits);
    const bool stacks = random_.chance(0.5);
    if (stacks) traits.stacked = {"q", "k"};
    if (random_.chance(0.4)) traits.batch_norm = "norm";
    const auto side = traits.shortcut ? 3 : random_.pick<int32_t>({1, 3, 5});
    return graph().conv("op", x_, (stacks ? 2 : 1) * outputs, {1, side, side}, traits);
  }

  /// Input positions between two outputs.
  Axes<int32_t> stride() {
    if (!clips()) return random_.pick<Axes<int32_t>>({{1, 2, 2}, {1, 2, 2}, {1, 3, 2}});
    return random_.pick<Axes<int32_t>>({{1, 2, 2}, {2, 1, 1}, {2, 1, 1}, {2, 2, 2}});
  }

  TensorId strided_convolution() {
    ConvolutionTraits traits{
        .activation = activation(), .edges = edges(), .begins_at_own = random_.chance(0.5)};
    const auto frames = static_cast<int32_t>(clips() ? random_.integer(stride_.t, 3) : 1);
    traits.over_frames = frames > 1;
    const bool of_frames = stride_.y * stride_.x == 1;
    if (frames > 1 && random_.chance(0.5)) traits.before_first = BeforeFirst::first_frame;
    traits.keeps_first_frame = of_frames && traits.before_first == BeforeFirst::zeros && random_.chance(0.7);
    const int64_t channels = traits.keeps_first_frame ? channels_ : random_.pick<int64_t>({1, 3, 8, 20, 36});
    const auto side = [&] { return random_.pick<int32_t>({1, 3, 3, 5}); };
    const Axes<int32_t> kernel = of_frames && random_.chance(0.7) ? Axes<int32_t>{frames, 1, 1}
                                                                  : Axes<int32_t>{frames, side(), side()};
    return graph().strided_conv("op", x_, channels, kernel, stride_, traits);
  }

  TensorId attention() {
    const auto frames = random_.pick<AttentionFrames>({AttentionFrames::each, AttentionFrames::interleaved,
                                                       AttentionFrames::up_to_own, AttentionFrames::all});
    const TensorId q = convolved("q", channels_), k = convolved("k", channels_),
                   v = convolved("v", channels_);
    return graph().attention("op", q, k, v, frames);
  }

  TensorId depth_to_space(bool in_time) {
    const auto side = random_.pick<int32_t>({1, 2, 2, 3});
    const int32_t frames = in_time ? 2 : 1;
    const auto outputs = random_.pick<int64_t>({1, 2, 3, 4, 8, 8, 16, channels_ < 9 ? 65 : 5});
    const TensorId wide = convolved("wide", outputs * side * side * frames);
    if (random_.chance(0.4)) {
      const auto order = random_.pick<DepthOrder>(
          {DepthOrder::channel_first, DepthOrder::pixel_first, DepthOrder::frame_within_pixel});
      const int64_t repeats = random_.integer(1, 2);
      return graph().repeated_depth_to_space("op", wide, outputs * repeats, {frames, side, side}, frames,
                                             order);
    }
    return in_time ? graph().depth_to_frames("op", wide, {frames, side, side})
                   : graph().depth_to_space("op", wide, {1, side, side});
  }

  TensorId space_to_depth() {
    const auto order =
        random_.pick<FoldOrder>({FoldOrder::channel_frame_row_column, FoldOrder::channel_column_row,
                                 FoldOrder::frame_row_column_channel});
    const auto first = random_.pick<FoldFirst>({FoldFirst::zeros, FoldFirst::twice, FoldFirst::alone});
    const int32_t frames = stride_.t > 1 ? stride_.t : static_cast<int32_t>(random_.integer(1, 2));
    // Means are over a divisor of the channels, also of those of frame 0 alone.
    const int64_t values = channels_ * stride_.y * stride_.x;
    int64_t outputs = values / random_.pick<int64_t>({1, 2, stride_.y * stride_.x, channels_, values});
    if (first != FoldFirst::alone && random_.chance(0.5)) outputs *= frames;
    return graph().space_to_depth("op", x_, outputs, stride_, {order, frames, first});
  }

  TensorId linear_attention() {
    const int64_t width = random_.chance(0.2) ? random_.pick<int64_t>({33, 70}) : random_.integer(1, 9);
    const int64_t heads = width > 9 ? 1 : random_.integer(1, 3);
    std::vector<TensorId> inputs{convolved("heads", 3 * width * heads)};
    if (random_.chance(0.4)) inputs.push_back(convolved("more", 3 * width));
    return graph().linear_attention("op", inputs, graph().key_value_sums("sums", inputs, width), 1e-15);
  }

  Random& random_;
  Model model_;
  int64_t channels_ = 0;
  Axes<int32_t> stride_{1, 1, 1};
  TensorId input_{}, x_{};
};

inline Model operation_model(OpKind kind, Random& random) {
  return OperationModel(kind, random, false).model();
}
inline Model strided_convolution_model(Random& random) {
  return OperationModel(OpKind::conv, random, true).model();
}

}  // namespace headroom::test
