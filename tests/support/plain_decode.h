#pragma once

#include <stdexcept>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "tests/support/activated.h"
#include "tests/support/decoding.h"

namespace headroom::test {

/// Reference decode of one item, untiled, operation by operation, in plain loops and double. Shares no code
/// with halos, tiles, steps or phases. Does not support attention and shuffles.
class PlainDecode {
 public:
  PlainDecode(const Model& model, const Extent& latent, uint64_t seed)
      : graph_(model.graph), latent_(latent), source_(random_source(seed)) {}

  /// Takes the latent and returns the picture, both as C×T×H×W.
  Array run(const Array& latent, const std::vector<int64_t>& shape) {
    tensors_.assign(graph_.tensors().size(), {});
    tensors_[0].assign(latent.values.begin(), latent.values.end());
    for (const Op& op : graph_.ops()) {
      if (!graph_.tensor(op.output).statistics) make(op);
    }
    const std::vector<double>& made = tensors_[index(graph_.output())];
    return {shape, {made.begin(), made.end()}};
  }

 private:
  using Values = std::vector<double>;

  Extent extent(TensorId id) const { return extent_of(graph_.tensor(id), latent_); }
  size_t place(TensorId id, int64_t c, int64_t t, int64_t y, int64_t x) const {
    const Extent size = extent(id);
    return static_cast<size_t>(((c * size.t + t) * size.y + y) * size.x + x);
  }

  std::vector<std::vector<float>> parameters(const Op& op) const {
    std::vector<std::vector<float>> list;
    for (const Parameter& parameter : parameters_of(graph_, op)) {
      int64_t count = 1;
      for (int64_t length : parameter.shape) count *= length;
      list.emplace_back(static_cast<size_t>(count));
      source_(parameter, {0, count}, list.back().data());
    }
    return list;
  }

  template <typename Value>
  void each(const Op& op, const Value& value) {
    const Extent size = extent(op.output);
    Values& made = tensors_[index(op.output)];
    for (int64_t c = 0; c < graph_.tensor(op.output).channels; ++c)
      for (int64_t t = 0; t < size.t; ++t)
        for (int64_t y = 0; y < size.y; ++y)
          for (int64_t x = 0; x < size.x; ++x) made.push_back(activated(op.activation, value(c, t, y, x)));
  }

  void make(const Op& op) {
    const TensorId from = op.inputs[0];
    const Values& in = tensors_[index(from)];
    const auto at = [&](int64_t c, int64_t t, int64_t y, int64_t x) { return in[place(from, c, t, y, x)]; };
    switch (op.kind) {
      case OpKind::conv:
        return convolve(op);
      case OpKind::norm:
        return normalise(op);
      case OpKind::rms_norm:
        return rms_normalise(op);
      case OpKind::upsample:
        return each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
          return at(c, t, y / op.factor.y, x / op.factor.x);
        });
      case OpKind::add: {
        const Values& other = tensors_[index(op.inputs[1])];
        return each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
          return at(c, t, y, x) + other[place(from, c, t, y, x)];
        });
      }
      case OpKind::gate: {
        const int64_t half = graph_.tensor(op.output).channels;
        return each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
          return at(c, t, y, x) * silu(at(c + half, t, y, x));
        });
      }
      case OpKind::activate:
        return each(op, at);
      default:
        throw std::logic_error(op.name + ": not known here");
    }
  }

  /// Maps a position outside the tensor to the source position inside it. Returns -1 for zero padding.
  static int64_t stands_for(Edges edges, int64_t position, int64_t size) {
    if (position >= 0 && position < size) return position;
    if (edges == Edges::zeros) return -1;
    if (edges == Edges::replicate) return position < 0 ? 0 : size - 1;
    while (size > 1 && (position < 0 || position >= size))
      position = position < 0 ? -position : 2 * (size - 1) - position;
    return size > 1 ? position : 0;
  }

  void convolve(const Op& op) {
    const TensorId from = op.inputs[0];
    const Values& in = tensors_[index(from)];
    const auto weights = parameters(op);
    const Extent size = extent(op.output);  // the kernel runs over the upsampled input
    const int64_t inputs = graph_.tensor(from).channels / op.groups,
                  outputs_of_group = graph_.tensor(op.output).channels / op.groups;
    const Axes<int32_t>& k = op.kernel;
    const ConvolutionTraits& traits = op.convolution;
    each(op, [&](int64_t o, int64_t t, int64_t y, int64_t x) {
      double sum = weights.at(1)[static_cast<size_t>(o)];
      for (int64_t i = 0; i < inputs * k.t * k.y * k.x; ++i) {
        const int64_t c = i / (k.t * k.y * k.x), kt = i / (k.y * k.x) % k.t, ky = i / k.x % k.y, kx = i % k.x;
        int64_t frame = std::min(t + kt - (k.t - 1 - traits.frames_ahead), size.t - 1);
        if (traits.before_first == BeforeFirst::first_frame) frame = std::max<int64_t>(0, frame);
        const int64_t row = stands_for(traits.edges, y + ky - k.y / 2, size.y),
                      column = stands_for(traits.edges, x + kx - k.x / 2, size.x);
        if (frame < 0 || row < 0 || column < 0) continue;
        sum += double(weights[0][static_cast<size_t>(o * inputs * k.t * k.y * k.x + i)]) *
               in[place(from, o / outputs_of_group * inputs + c, frame, row / op.factor.y,
                        column / op.factor.x)];
      }
      return sum;
    });
  }

  void normalise(const Op& op) {
    const Op& measured = *graph_.producer(op.inputs[1]);
    const Values& in = tensors_[index(op.inputs[0])];
    const auto weights = parameters(op);
    const auto count = static_cast<int64_t>(in.size()) / measured.groups;
    const int64_t of_group = graph_.tensor(op.output).channels / measured.groups;
    Values means, deviations;
    for (int64_t g = 0; g < measured.groups; ++g) {
      double sum = 0, squares = 0;
      for (int64_t i = g * count; i < (g + 1) * count; ++i) sum += in[static_cast<size_t>(i)];
      means.push_back(sum / double(count));
      for (int64_t i = g * count; i < (g + 1) * count; ++i)
        squares += (in[static_cast<size_t>(i)] - means.back()) * (in[static_cast<size_t>(i)] - means.back());
      deviations.push_back(std::sqrt(squares / double(count) + measured.epsilon));
    }
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const auto g = static_cast<size_t>(c / of_group), channel = static_cast<size_t>(c);
      return (in[place(op.inputs[0], c, t, y, x)] - means[g]) / deviations[g] * weights.at(0)[channel] +
             weights.at(1)[channel];
    });
  }

  void rms_normalise(const Op& op) {
    const Values& in = tensors_[index(op.inputs[0])];
    const auto weights = parameters(op);
    const int64_t channels = graph_.tensor(op.output).channels;
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      double mean = 0, squares = 0;
      const auto value = [&](int64_t i) { return in[place(op.inputs[0], i, t, y, x)]; };
      for (int64_t i = 0; i < channels && op.centred; ++i) mean += value(i) / double(channels);
      for (int64_t i = 0; i < channels; ++i) squares += (value(i) - mean) * (value(i) - mean);
      const double normalised = (value(c) - mean) / std::sqrt(squares / double(channels) + op.epsilon);
      const auto channel = static_cast<size_t>(c);
      return weights.empty() ? normalised : normalised * weights.at(0)[channel] + weights.at(1)[channel];
    });
  }

  const Graph& graph_;
  const Extent latent_;
  const ParameterSource source_;
  std::vector<Values> tensors_;
};

}  // namespace headroom::test
