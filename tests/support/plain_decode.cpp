#include "tests/support/plain_decode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/random_weights.h"
#include "tests/support/activated.h"

namespace headroom::test {
namespace {

class PlainDecode {
 public:
  PlainDecode(const Model& model, const Extent& latent, uint64_t seed)
      : graph_(model.graph), latent_(latent), seed_(seed) {}

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
      const int64_t count = elements_of(parameter);
      list.emplace_back(static_cast<size_t>(count));
      fill_random(parameter, seed_, {0, count}, list.back().data());
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
      case OpKind::modulate: {
        const Values& factors = tensors_[index(op.inputs[1])];
        const int64_t channels = graph_.tensor(op.output).channels;
        return each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
          return at(c, t, y, x) * factors[place(op.inputs[1], c, t, y, x)] +
                 factors[place(op.inputs[1], channels + c, t, y, x)];
        });
      }
      case OpKind::activate:
        return each(op, at);
      case OpKind::interpolate:
        return interpolate(op);
      case OpKind::unfold_frames:
        return each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
          if (t == 0) return at(c, t, y, x);
          const int64_t half = t % 2 == 1 ? 0 : graph_.tensor(op.output).channels;
          return tensors_[index(op.inputs[1])][place(op.inputs[1], half + c, (t + 1) / 2, y, x)];
        });
      case OpKind::depth_to_space:
        return depth_to_space(op);
      case OpKind::space_to_depth:
        return space_to_depth(op);
      case OpKind::attention:
        return attend(op);
      case OpKind::linear_attention:
        return attend_linearly(op);
      default:
        throw std::logic_error(op.name + ": makes no positions");
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

  /// Runs both modules one after another. A transposed second one maps its outputs to its inputs, without a
  /// bias.
  void multiply(const Op& op) {
    const KernelProduct& product = op.convolution.product;
    const std::vector<Parameter> names = parameters_of(graph_, op);
    const auto weights = parameters(op);
    const int64_t channels = graph_.tensor(op.output).channels;
    const auto read = [&](const ModulePart& part, const char* leaf) {
      const auto found = std::find_if(names.begin(), names.end(),
                                      [&](const Parameter& own) { return own.name == part.module + leaf; });
      const std::vector<float>& all = weights.at(static_cast<size_t>(found - names.begin()));
      const auto count = std::ssize(all) / part.parts;
      return Values(all.begin() + part.part * count, all.begin() + (part.part + 1) * count);
    };
    const Values first = read(product.first, ".weight"), added = read(product.first, ".bias");
    const Values second = read(product.second, ".weight"), last = read(product.second, ".bias");
    const bool transposed = product.transposes_second;
    const Values& in = tensors_[index(op.inputs[0])];
    each(op, [&](int64_t o, int64_t t, int64_t y, int64_t x) {
      double sum = transposed ? 0 : last[static_cast<size_t>(o)];
      for (int64_t m = 0; m < channels; ++m) {
        double between = added[static_cast<size_t>(m)];
        for (int64_t i = 0; i < channels; ++i)
          between += first[static_cast<size_t>(m * channels + i)] * in[place(op.inputs[0], i, t, y, x)];
        sum += second[static_cast<size_t>(transposed ? m * channels + o : o * channels + m)] * between;
      }
      return sum * op.convolution.scale;
    });
  }

  void convolve(const Op& op) {
    if (!op.convolution.product.empty()) return multiply(op);
    const TensorId from = op.inputs[0];
    const Values& in = tensors_[index(from)];
    Extent size = extent(from);  // the kernel runs over the upsampled input
    size.y *= op.factor.y;
    size.x *= op.factor.x;
    const int64_t all_inputs = graph_.tensor(from).channels, inputs = all_inputs / op.groups;
    const int64_t outputs = graph_.tensor(op.output).channels, outputs_of_group = outputs / op.groups;
    const Axes<int32_t>& k = op.kernel;
    const ConvolutionTraits& traits = op.convolution;
    std::map<std::string, std::vector<float>> named;
    std::vector<std::vector<float>> values = parameters(op);
    for (const Parameter& parameter : parameters_of(graph_, op))
      named[parameter.name] = std::move(values[named.size()]);
    const auto modules = traits.stacked.empty() ? std::vector<std::string>{op.name} : traits.stacked;
    const auto stacked = [&](const char* leaf) {
      std::vector<float> all;
      for (const std::string& module : modules) {
        const std::vector<float>& own = named.at(module + leaf);
        all.insert(all.end(), own.begin(), own.end());
      }
      return all;
    };
    const std::vector<float> weights = stacked(".weight"),
                             biases = traits.bias ? stacked(".bias") : std::vector<float>{};
    const auto of_channel = [&](const std::string& name, int64_t channel) {
      return double(named.at(name)[static_cast<size_t>(channel)]);
    };
    each(op, [&](int64_t o, int64_t t, int64_t y, int64_t x) {
      double sum = traits.bias ? double(biases[static_cast<size_t>(o)]) : 0;
      const float* weight = weights.data() + o * inputs * k.t * k.y * k.x;
      const int64_t top = y * op.stride.y - (traits.begins_at_own ? 0 : k.y / 2),
                    left = x * op.stride.x - (traits.begins_at_own ? 0 : k.x / 2);
      for (int64_t c = 0; c < inputs; ++c) {
        for (int64_t kt = 0; kt < k.t; ++kt) {
          int64_t frame = t * op.stride.t + kt - (k.t - 1 - traits.frames_ahead);
          if (traits.before_first == BeforeFirst::first_frame)
            frame = std::clamp<int64_t>(frame, 0, size.t - 1);
          const bool left_out =
              traits.before_first == BeforeFirst::zeros_instead_of_first_frame && frame == 0;
          for (int64_t ky = 0; ky < k.y; ++ky) {
            const int64_t row = stands_for(traits.edges, top + ky, size.y);
            for (int64_t kx = 0; kx < k.x; ++kx, ++weight) {
              const int64_t column = stands_for(traits.edges, left + kx, size.x);
              if (left_out || frame < 0 || frame >= size.t || row < 0 || column < 0) continue;
              sum += double(*weight) * in[place(from, o / outputs_of_group * inputs + c, frame,
                                                row / op.factor.y, column / op.factor.x)];
            }
          }
        }
      }
      if (!traits.batch_norm.empty()) {
        const std::string& norm = traits.batch_norm;
        sum = (sum - of_channel(norm + ".running_mean", o)) /
                  std::sqrt(of_channel(norm + ".running_var", o) + op.epsilon) *
                  of_channel(norm + ".weight", o) +
              of_channel(norm + ".bias", o);
      }
      if (traits.shortcut) {
        const int64_t pixels = op.factor.y * op.factor.x;
        const int64_t repeated = pixels * o + y % op.factor.y * op.factor.x + x % op.factor.x;
        sum +=
            in[place(from, repeated / (pixels * outputs / all_inputs), t, y / op.factor.y, x / op.factor.x)];
      }
      return sum * traits.scale + traits.shift;
    });
    if (!traits.keeps_first_frame) return;
    for (int64_t c = 0; c < graph_.tensor(from).channels; ++c) {
      for (int64_t i = 0; i < size.y * size.x; ++i)
        tensors_[index(op.output)][place(op.output, c, 0, i / size.x, i % size.x)] =
            in[place(from, c, 0, i / size.x, i % size.x)];
    }
  }

  void normalise(const Op& op) {
    const Op& measured = *graph_.producer(op.inputs[1]);
    const auto weights = parameters(op);
    const Extent size = extent(op.output);
    const int64_t of_group = graph_.tensor(op.output).channels / measured.groups;
    // Frame 0 belongs to the first run, whose other frames are as many as those of each later run.
    const auto run_of = [&](int64_t t) {
      if (!measured.by_frame) return Interval{0, size.t};
      if (measured.run_frames == 0) return Interval{t, t + 1};
      int64_t begin = 0, end = measured.run_frames + 1;
      while (end <= t) begin = std::exchange(end, end + measured.run_frames);
      return Interval{begin, std::min(end, size.t)};
    };
    // Values of a group, of the frames that share statistics with frame t.
    const auto for_group = [&](int64_t group, int64_t t, const auto& use) {
      for (int64_t c = group * of_group; c < (group + 1) * of_group; ++c)
        for (int64_t f = run_of(t).begin; f < run_of(t).end; ++f)
          for (int64_t i = 0; i < size.y * size.x; ++i)
            use(tensors_[index(op.inputs[0])][place(op.inputs[0], c, f, i / size.x, i % size.x)]);
    };
    const auto count = [&](int64_t t) { return double(of_group * run_of(t).length() * size.y * size.x); };
    std::map<std::pair<int64_t, int64_t>, std::pair<double, double>> known;  // mean and deviation
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const int64_t group = c / of_group;
      const auto [entry, fresh] = known.try_emplace({group, measured.by_frame ? t : 0});
      auto& [mean, deviation] = entry->second;
      if (fresh) {
        double sum = 0, squares = 0;
        for_group(group, t, [&](double value) { sum += value; });
        mean = sum / count(t);
        for_group(group, t, [&, mean = mean](double value) { squares += (value - mean) * (value - mean); });
        deviation = std::sqrt(squares / count(t) + measured.epsilon);
      }
      const auto channel = static_cast<size_t>(c);
      const double value = tensors_[index(op.inputs[0])][place(op.inputs[0], c, t, y, x)];
      return (value - mean) / deviation * weights.at(0)[channel] + weights.at(1)[channel];
    });
  }

  void rms_normalise(const Op& op) {
    const Values& in = tensors_[index(op.inputs[0])];
    const auto weights = parameters(op);
    const int64_t channels = graph_.tensor(op.output).channels;
    std::map<std::tuple<int64_t, int64_t, int64_t>, std::pair<double, double>> known;  // mean and deviation
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const auto [entry, fresh] = known.try_emplace({t, y, x});
      auto& [mean, deviation] = entry->second;
      if (fresh) {
        double squares = 0;
        const auto value = [&](int64_t i) { return in[place(op.inputs[0], i, t, y, x)]; };
        for (int64_t i = 0; i < channels && op.centred; ++i) mean += value(i) / double(channels);
        for (int64_t i = 0; i < channels; ++i) squares += (value(i) - mean) * (value(i) - mean);
        deviation = std::sqrt(squares / double(channels) + op.epsilon);
      }
      const double normalised = (in[place(op.inputs[0], c, t, y, x)] - mean) / deviation;
      const auto channel = static_cast<size_t>(c);
      return weights.empty() ? normalised : normalised * weights.at(0)[channel] + weights.at(1)[channel];
    });
  }

  /// Position between two source positions: torch.nn.functional.interpolate with align_corners=False.
  struct Between {
    int64_t low, high;
    double share;  ///< of `high`
  };
  static Between between(int64_t at, int32_t factor, int64_t size) {
    const double source = std::max(0.0, (double(at) + 0.5) / factor - 0.5);
    const auto low = static_cast<int64_t>(source);
    return {low, std::min(low + 1, size - 1), source - double(low)};
  }

  void interpolate(const Op& op) {
    const Values& in = tensors_[index(op.inputs[0])];
    const Extent size = extent(op.inputs[0]);
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      // The first frame stays; the others are a clip of their own.
      Between frames = t == 0 ? Between{0, 0, 0} : between(t - 1, op.factor.t, size.t - 1);
      if (t > 0) ++frames.low, ++frames.high;
      const Between rows = between(y, op.factor.y, size.y), columns = between(x, op.factor.x, size.x);
      double sum = 0;
      for (int corner = 0; corner < 8; ++corner) {
        const auto of = [](const Between& axis, bool high) { return high ? axis.high : axis.low; };
        const auto share = [](const Between& axis, bool high) { return high ? axis.share : 1 - axis.share; };
        const bool a = (corner & 1) != 0, b = (corner & 2) != 0, d = (corner & 4) != 0;
        sum += share(frames, a) * share(rows, b) * share(columns, d) *
               in[place(op.inputs[0], c, of(frames, a), of(rows, b), of(columns, d))];
      }
      return sum;
    });
  }

  void depth_to_space(const Op& op) {
    const TensorId from = op.inputs[0];
    const int64_t inputs = graph_.tensor(from).channels, outputs = graph_.tensor(op.output).channels;
    const int64_t frames = op.frames_in_depth, pixels = int64_t{op.factor.y} * op.factor.x;
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const bool first = t == 0 || op.factor.t == 1;
      const int64_t source = first ? t : (t - 1) / op.factor.t + 1;
      const int64_t pixel = y % op.factor.y * op.factor.x + x % op.factor.x;
      int64_t channel = 0;
      if (op.depth_order == DepthOrder::channel_first) {
        const int64_t frame = first ? frames - 1 : (t - 1) % op.factor.t;
        channel = ((c * frames + frame) * pixels + pixel) / (outputs * frames * pixels / inputs);
      } else if (op.depth_order == DepthOrder::frame_within_pixel) {
        const int64_t frame = first ? 0 : (t - 1) % op.factor.t;
        channel = ((pixel * frames + frame) * outputs + c) / (outputs * frames * pixels / inputs);
      } else {
        const int64_t frame = first ? 0 : (t - 1) % op.factor.t;
        const int64_t of_pixel = inputs / (first ? pixels : frames * pixels);
        channel = (frame * pixels + pixel) * of_pixel + c / std::max<int64_t>(1, outputs / of_pixel);
      }
      return tensors_[index(from)][place(from, channel, source, y / op.factor.y, x / op.factor.x)];
    });
  }

  /// Lists all channels of the square under an output in their order. Groups of neighbours are averaged.
  void space_to_depth(const Op& op) {
    const TensorId from = op.inputs[0];
    const int64_t inputs = graph_.tensor(from).channels, outputs = graph_.tensor(op.output).channels;
    each(op, [&](int64_t o, int64_t t, int64_t y, int64_t x) {
      std::vector<int64_t> frames;  // -1: zeros
      for (int64_t f = 0; f < op.fold.frames; ++f) {
        const bool own = f + 1 == op.fold.frames;
        if (t > 0 && op.stride.t > 1)
          frames.push_back((t - 1) * op.stride.t + 1 + f);
        else if (own || op.fold.first == FoldFirst::twice)
          frames.push_back(t);
        else if (op.fold.first == FoldFirst::zeros)
          frames.push_back(-1);
      }
      Values square;
      const auto add = [&](int64_t c, int64_t frame, int64_t row, int64_t column) {
        square.push_back(frame < 0 ? 0
                                   : tensors_[index(from)][place(from, c, frame, y * op.stride.y + row,
                                                                 x * op.stride.x + column)]);
      };
      const auto for_channels = [&](const auto& use) {
        for (int64_t c = 0; c < inputs; ++c) use(c);
      };
      const auto for_frames = [&](const auto& use) { std::for_each(frames.begin(), frames.end(), use); };
      const auto for_rows = [&](const auto& use) {
        for (int64_t row = 0; row < op.stride.y; ++row) use(row);
      };
      const auto for_columns = [&](const auto& use) {
        for (int64_t column = 0; column < op.stride.x; ++column) use(column);
      };
      switch (op.fold.order) {
        case FoldOrder::channel_frame_row_column:
          for_channels([&](int64_t c) {
            for_frames([&](int64_t frame) {
              for_rows(
                  [&](int64_t row) { for_columns([&](int64_t column) { add(c, frame, row, column); }); });
            });
          });
          break;
        case FoldOrder::channel_column_row:
          for_channels([&](int64_t c) {
            for_frames([&](int64_t frame) {
              for_columns(
                  [&](int64_t column) { for_rows([&](int64_t row) { add(c, frame, row, column); }); });
            });
          });
          break;
        case FoldOrder::frame_row_column_channel:
          for_frames([&](int64_t frame) {
            for_rows([&](int64_t row) {
              for_columns(
                  [&](int64_t column) { for_channels([&](int64_t c) { add(c, frame, row, column); }); });
            });
          });
          break;
      }
      const auto group = std::ssize(square) / outputs;
      const auto begin = square.begin() + o * group;
      return std::accumulate(begin, begin + group, 0.0) / double(group);
    });
  }

  /// The frames of an attention's input, each as a list of positions with their channels.
  std::vector<std::vector<Values>> frames_of(TensorId id, AttentionFrames order) const {
    const Extent size = extent(id);
    const int64_t channels = graph_.tensor(id).channels;
    std::vector<std::vector<Values>> frames(static_cast<size_t>(size.t));
    for (int64_t t = 0; t < size.t; ++t) {
      for (int64_t i = 0; i < size.y * size.x; ++i) {
        Values& position = frames[static_cast<size_t>(t)].emplace_back();
        for (int64_t c = 0; c < channels; ++c) {
          // Interleaved: value `number` of all C * T values of a position, ordered by channel.
          const int64_t number = t * channels + c;
          const bool runs = order == AttentionFrames::interleaved;
          position.push_back(tensors_[index(id)][place(id, runs ? number / size.t : c,
                                                       runs ? number % size.t : t, i / size.x, i % size.x)]);
        }
      }
    }
    return frames;
  }

  void attend(const Op& op) {
    const auto queries = frames_of(op.inputs[0], op.frames), keys = frames_of(op.inputs[1], op.frames),
               values = frames_of(op.inputs[2], op.frames);
    std::vector<std::vector<Values>> made(queries.size());
    for (size_t t = 0; t < queries.size(); ++t) {
      const bool all = op.frames == AttentionFrames::all;
      const size_t begin = all || op.frames == AttentionFrames::up_to_own ? 0 : t;
      const size_t end = all ? queries.size() : t + 1;
      for (const Values& query : queries[t]) {
        Values sums(values[0][0].size(), 0.0);
        double largest = -std::numeric_limits<double>::infinity(), total = 0;
        const auto score = [&](const Values& key) {
          return std::inner_product(key.begin(), key.end(), query.begin(), 0.0);
        };
        for (size_t f = begin; f < end; ++f)
          for (const Values& key : keys[f]) largest = std::max(largest, score(key));
        for (size_t f = begin; f < end; ++f) {
          for (size_t i = 0; i < keys[f].size(); ++i) {
            const double weight = std::exp(score(keys[f][i]) - largest);
            total += weight;
            for (size_t c = 0; c < sums.size(); ++c) sums[c] += weight * values[f][i][c];
          }
        }
        for (double& sum : sums) sum /= total;
        made[t].push_back(std::move(sums));
      }
    }
    const Extent size = extent(op.output);
    const int64_t channels = graph_.tensor(op.output).channels;
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const bool runs = op.frames == AttentionFrames::interleaved;
      const int64_t number = c * size.t + t;
      const auto frame = static_cast<size_t>(runs ? number / channels : t);
      return made[frame][static_cast<size_t>(y * size.x + x)]
                 [static_cast<size_t>(runs ? number % channels : c)];
    });
  }

  /// Heads lie one after another over all inputs but the last, each with q, k and v side by side.
  void attend_linearly(const Op& op) {
    const Extent size = extent(op.output);
    const int64_t width = graph_.tensor(op.output).channels / op.groups;
    const auto value = [&](int64_t channel, int64_t t, int64_t y, int64_t x) {
      for (size_t i = 0; i + 1 < op.inputs.size(); ++i) {
        const int64_t channels = graph_.tensor(op.inputs[i]).channels;
        if (channel < channels) return tensors_[index(op.inputs[i])][place(op.inputs[i], channel, t, y, x)];
        channel -= channels;
      }
      return 0.0;
    };
    const int64_t positions = size.t * size.y * size.x;
    const auto at = [&](int64_t channel, int64_t i) {
      return value(channel, i / (size.y * size.x), i / size.x % size.y, i % size.x);
    };
    std::map<std::pair<int64_t, int64_t>, Values> known;  // products of a query of a head with all keys
    each(op, [&](int64_t c, int64_t t, int64_t y, int64_t x) {
      const int64_t head = 3 * (c / width) * width, query = (t * size.y + y) * size.x + x;
      Values& products = known[{head, query}];
      for (int64_t i = 0; std::ssize(products) < positions; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < width; ++k)
          sum += std::max(0.0, at(head + k, query)) * std::max(0.0, at(head + width + k, i));
        products.push_back(sum);
      }
      double sum = 0, total = op.epsilon;
      for (int64_t i = 0; i < positions; ++i) {
        total += products[static_cast<size_t>(i)];
        sum += products[static_cast<size_t>(i)] * at(head + 2 * width + c % width, i);
      }
      return sum / total;
    });
  }

  const Graph& graph_;
  const Extent latent_;
  const uint64_t seed_;
  std::vector<Values> tensors_;
};

}  // namespace

Array plain_decode(const Model& model, const Extent& latent_extent, uint64_t seed, const Array& latent,
                   const std::vector<int64_t>& shape) {
  return PlainDecode(model, latent_extent, seed).run(latent, shape);
}

}  // namespace headroom::test
