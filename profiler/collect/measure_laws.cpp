#include "profiler/collect/measure_laws.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "decoder/kernels/storage.h"
#include "decoder/plan/memory.h"
#include "decoder/runtime/attention.h"
#include "decoder/runtime/convolution.h"
#include "decoder/runtime/kept_map.h"
#include "decoder/runtime/linear_attention.h"
#include "decoder/runtime/normalisation.h"
#include "decoder/runtime/pool.h"
#include "decoder/runtime/pool_allocator.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPointSeconds = 5e-3;  // of calls for one point in one sweep
constexpr int kMostCalls = 400;
constexpr double kOnceSeconds = 50e-3;  // a call this long is measured once in all
constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr int64_t kLargePositions = 1 << 13;
constexpr int64_t kFarApartBytes = int64_t{96}
                                   << 20;  // calls move through so much, so that caches do not hold it

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A call that can be repeated, ready to run, and the bytes that its result takes.
struct Call {
  std::function<void()> run;
  int64_t result_bytes = 0;
};

/// One kind of call, and how to make one of an extent.
struct Subject {
  Law law;
  std::function<Call(int64_t rows, int64_t columns)> prepare;
  std::vector<std::pair<int64_t, int64_t>> held_out{};
  // What the sweeps found, by point: those of the law, then those held out.
  std::vector<std::vector<double>> found{};
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Values between -1 and 1; the same few thousand over and over.
void fill(float* values, int64_t count) {
  constexpr int64_t kDrawn = 4099;
  uint32_t state = 12345;
  for (int64_t i = 0; i < std::min(count, kDrawn); ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = float(state >> 8) * 0x1p-23f - 1.0f;
  }
  for (int64_t i = kDrawn; i < count; i += kDrawn)
    std::copy_n(values, std::min(kDrawn, count - i), values + i);
}

at::Tensor filled(at::IntArrayRef shape) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  fill(tensor.data_ptr<float>(), tensor.numel());
  return tensor;
}

Region region_of(int64_t rows, int64_t columns) {
  return {{0, 1}, {0, rows}, {0, columns}};
}
int64_t float_bytes(int64_t positions, int64_t channels) {
  return allocated_bytes(positions * channels * int64_t{sizeof(float)});
}

/// Values between -1 and 1 as they are stored.
at::Tensor stored(int64_t count, Dtype dtype) {
  const at::Tensor bytes = at::empty({count * bytes_per_element(dtype)}, at::kByte);
  constexpr int64_t kPiece = 4099;
  std::vector<float> values(kPiece);
  fill(values.data(), kPiece);
  auto* to = static_cast<std::byte*>(bytes.data_ptr());
  for (int64_t i = 0; i < count; i += kPiece)
    kernels::narrow(dtype, values.data(), to + i * bytes_per_element(dtype), std::min(kPiece, count - i));
  return bytes;
}

/// A tensor that is kept, as sweeps meet it: each view lies after the one before, round and round.
class Store {
 public:
  explicit Store(Dtype dtype) : dtype_(dtype) {}
  Dtype dtype() const { return dtype_; }
  MapView next(int64_t rows, int64_t columns, int64_t channels) {
    const int64_t count = rows * columns * channels;
    if (count_ < count) {
      values_ = at::Tensor();
      count_ = std::max<int64_t>(count, kFarApartBytes / bytes_per_element(dtype_));
      values_ = stored(count_, dtype_);
    }
    if (offset_ + count > count_) offset_ = 0;
    MapView view{.region = region_of(rows, columns),
                 .channels = channels,
                 .block_rows = rows,
                 .blocks_per_item = 1,
                 .blocks = {},
                 .dtype = dtype_};
    view.blocks.push_back(static_cast<std::byte*>(values_.data_ptr()) + offset_ * bytes_per_element(dtype_));
    offset_ += (count + 15) / 16 * 16;
    return view;
  }

 private:
  const Dtype dtype_;
  at::Tensor values_;
  int64_t count_ = 0, offset_ = 0;
};

Tile filled_tile(int64_t rows, int64_t columns, int64_t channels) {
  Tile tile = make_tile(region_of(rows, columns), channels, 1);
  fill(tile.values.data_ptr<float>(), tile.values.numel());
  return tile;
}

Call convolution(const Graph& graph, const Op& op, ConvolutionForm form, Dtype dtype, int64_t rows,
                 int64_t columns) {
  const KernelShape shape = kernel_shape(graph, op);
  const ConvolutionForm own = form_of(shape, form);
  // A tile that begins at an even position, well inside the picture.
  const Region region{{0, 1}, {2, 2 + rows}, {2, 2 + columns}};
  const Region needed = needed_region(graph, op, 0, region);
  const auto input = std::make_shared<Tile>(make_tile(needed, shape.inputs, 1));
  fill(input->values.data_ptr<float>(), input->values.numel());
  const at::Tensor values = filled({shape.floats(own)});
  const at::Tensor bias = filled({shape.outputs});
  return {[=, activation = op.activation] {
            const Tile made = make_tile(region, shape.outputs, 1);
            convolve(input->view(), {shape, own, values.const_data_ptr<float>()},
                     bias.const_data_ptr<float>(), made.view(), region, 1);
            activate(made.view(), activation, region, 1);
            round_tile(made.view(), dtype, 1);
          },
          float_bytes(rows * columns, shape.outputs)};
}

Call attention(const Graph& graph, const Op& op, Dtype dtype, int64_t queries, int64_t keys) {
  const int64_t channels = graph.tensor(op.inputs[0]).channels,
                value_channels = graph.tensor(op.inputs[2]).channels;
  const auto tile = std::make_shared<Tile>(filled_tile(1, queries, channels));
  const int64_t block =
      std::clamp<int64_t>(MemoryModel{}.block_bytes / (channels * bytes_per_element(dtype)), 1, keys);
  const auto whole_map = [&](int64_t of_channels) {
    const auto map =
        std::make_shared<KeptMap>(Kept{.block_rows = block}, Extent{1, keys, 1}, of_channels, 1, dtype);
    map->acquire({0, map->blocks_per_item()});
    const int64_t bytes = block * of_channels * bytes_per_element(dtype);
    const at::Tensor values = stored(block * of_channels, dtype);
    for (void* to : map->view().blocks) std::memcpy(to, values.const_data_ptr(), static_cast<size_t>(bytes));
    return map;
  };
  const auto key_map = whole_map(channels), value_map = whole_map(value_channels);
  return {[=] { round_tile(attend(*tile, key_map->view(), value_map->view(), 1).view(), dtype, 1); },
          float_bytes(queries, value_channels)};
}

/// What linear attention and its sums read.
std::shared_ptr<std::vector<Tile>> pieces_of(const Graph& graph, const Op& op, int64_t rows,
                                             int64_t columns) {
  const auto pieces = std::make_shared<std::vector<Tile>>();
  for (TensorId input : op.inputs) {
    const Tensor& tensor = graph.tensor(input);
    if (!tensor.statistics) pieces->push_back(filled_tile(rows, columns, tensor.channels));
  }
  return pieces;
}

std::vector<MapView> views_of(const std::vector<Tile>& tiles) {
  std::vector<MapView> views;
  for (const Tile& tile : tiles) views.push_back(tile.view());
  return views;
}

Call operation(const Graph& graph, const Op& op, ConvolutionForm form, const std::shared_ptr<Store>& store,
               int64_t rows, int64_t columns) {
  const int64_t channels = graph.tensor(measured_tensor(op)).channels;
  const Extent extent{1, rows, columns};
  const Region region = region_of(rows, columns);
  switch (op.kind) {
    case OpKind::conv:
      return convolution(graph, op, form, store->dtype(), rows, columns);
    case OpKind::attention:
      return attention(graph, op, store->dtype(), rows, columns);
    case OpKind::statistics: {
      const auto tile = std::make_shared<Tile>(filled_tile(rows, columns, channels));
      const auto statistics = std::make_shared<GroupStatistics>(1, op.groups);
      return {[=] { statistics->add(tile->view(), tile->region, 1); }, 0};
    }
    case OpKind::norm: {
      const Op& measured = *graph.producer(op.inputs[1]);
      const auto statistics = std::make_shared<GroupStatistics>(1, measured.groups);
      const Tile sample = filled_tile(4, 4, channels);
      statistics->add(sample.view(), sample.region, 1);
      const at::Tensor scale = filled({channels}), bias = filled({channels});
      const OpWeights weights{.scale = scale.const_data_ptr<float>(), .bias = bias.const_data_ptr<float>()};
      return {[=, held = std::pair(scale, bias), activation = op.activation] {
                normalise(store->next(rows, columns, channels),
                          make_tile(region_of(rows, columns), channels, 1), activation, 1e-6, weights,
                          *statistics, extent, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::upsample: {
      const Axes<int32_t> factor = op.factor;
      return {[=] {
                const MapView source = store->next((rows + factor.y - 1) / factor.y,
                                                   (columns + factor.x - 1) / factor.x, channels);
                upsample(source, make_tile(region_of(rows, columns), channels, 1).view(), factor, extent, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::add: {
      const auto tile = std::make_shared<Tile>(filled_tile(rows, columns, channels));
      return {[=] {
                add_region(store->next(rows, columns, channels), tile->view(), tile->region, 1);
                round_tile(tile->view(), store->dtype(), 1);
              },
              0};
    }
    case OpKind::pixel_norm: {
      const auto source = std::make_shared<Tile>(filled_tile(rows, columns, channels));
      const at::Tensor scale = filled({channels}), bias = filled({channels});
      const OpWeights weights{.scale = scale.const_data_ptr<float>(), .bias = bias.const_data_ptr<float>()};
      return {[=, held = std::pair(scale, bias), activation = op.activation] {
                normalise_pixels(source->view(), make_tile(region, channels, 1), activation, 1e-6, weights,
                                 region, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::gate: {
      const auto source = std::make_shared<Tile>(filled_tile(rows, columns, 2 * channels));
      return {[=, dtype = store->dtype()] {
                const Tile made = make_tile(region, channels, 1);
                gate(source->view(), made.view(), region, 1);
                round_tile(made.view(), dtype, 1);
              },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::shuffle: {
      const Axes<int32_t> factor = op.factor;
      const auto source = std::make_shared<Tile>(filled_tile((rows + factor.y - 1) / factor.y,
                                                             (columns + factor.x - 1) / factor.x,
                                                             channels * factor.y * factor.x));
      return {[=] { shuffle(source->view(), make_tile(region, channels, 1).view(), factor, region, 1); },
              float_bytes(rows * columns, channels)};
    }
    case OpKind::key_value_sums: {
      const auto pieces = pieces_of(graph, op, rows, columns);
      const auto sums = std::make_shared<KeyValueSums>(1, LinearHeads{op.groups, head_channels(graph, op)});
      return {[=] { sums->add(views_of(*pieces), region, 1); }, 0};
    }
    case OpKind::linear_attention: {
      const auto pieces = pieces_of(graph, op, rows, columns);
      const auto sums = std::make_shared<KeyValueSums>(1, LinearHeads{op.groups, head_channels(graph, op)});
      sums->add(views_of(*pieces), region, 1);
      return {[=, dtype = store->dtype()] {
                const Tile made = make_tile(region, channels, 1);
                attend_linearly(views_of(*pieces), *sums, 1e-15, made.view(), region, 1);
                round_tile(made.view(), dtype, 1);
              },
              float_bytes(rows * columns, channels)};
    }
  }
  return {};
}

/// Steps that move pixels between tiles and what is kept.
Call moving(const std::string& step, int64_t channels, const std::shared_ptr<Store>& store, int64_t rows,
            int64_t columns) {
  const Extent extent{1, rows, columns};
  if (step == "gather") {
    return {[=] {
              gather(store->next(rows, columns, channels),
                     make_tile(region_of(rows, columns), channels, 1).view(), extent, 1);
            },
            float_bytes(rows * columns, channels)};
  }
  const auto tile = std::make_shared<Tile>(filled_tile(rows, columns, channels));
  if (step == "store") {
    return {[=] { copy_region(tile->view(), store->next(rows, columns, channels), tile->region, 1); }, 0};
  }
  if (step == "accumulate") {
    return {[=] { add_region(tile->view(), store->next(rows, columns, channels), tile->region, 1); }, 0};
  }
  // Emitting: the values are looked through before the sink has them.
  return {[=] {
            const float* values = tile->values.const_data_ptr<float>();
            const bool finite =
                std::all_of(values, values + tile->values.numel(), [](float v) { return std::isfinite(v); });
            if (!finite) throw std::logic_error("not finite");
          },
          0};
}

/// 1, 2, 4, 8 … or with another factor, and the whole.
std::vector<int64_t> knots_up_to(int64_t whole, int64_t first, const std::vector<int64_t>& more) {
  std::vector<int64_t> knots;
  if (first < whole) knots.push_back(first);
  for (int64_t knot : more) {
    if (knot > first && knot * 3 <= whole * 2) knots.push_back(knot);
  }
  knots.push_back(whole);
  return knots;
}

Law empty_law(const std::string& name, const Extent& whole, OpKind kind) {
  Law law;
  law.name = name;
  if (kind == OpKind::attention) {
    law.rows = knots_up_to(whole.y, 16, {64, 256, 1024, 4096, 16384});
    law.columns = knots_up_to(whole.x, 64, {512, 2048, 8192, 32768});
  } else {
    law.rows = knots_up_to(whole.y, 1, {2, 4, 8, 16, 32, 64, 128});
    law.columns = knots_up_to(whole.x, 4, {16, 64, 256, 1024});
  }
  law.seconds.assign(law.rows.size() * law.columns.size(), kUnknown);
  law.workspace_bytes.assign(law.seconds.size(), 0);
  return law;
}

/// Extents between the knots, inside the range.
std::vector<std::pair<int64_t, int64_t>> between(const Law& law) {
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const auto& [y, x] :
       {std::pair<int64_t, int64_t>{5, 40}, {10, 100}, {20, 34}, {24, 180}, {40, 68}, {90, 200}}) {
    if (y < law.rows.back() && x < law.columns.back()) points.emplace_back(y, x);
  }
  return points;
}

class Measuring {
 public:
  Measuring(const Graph& graph, const std::vector<Extent>& latents, Dtype dtype)
      : graph_(graph), store_(std::make_shared<Store>(dtype)) {
    std::map<std::string, size_t> known;
    const auto subject = [&](const std::string& name, const Extent& whole, OpKind kind, auto prepare) {
      if (const auto found = known.find(name); found != known.end()) {
        const Law& before = subjects_[found->second].law;
        const Extent larger{1, std::max(whole.y, before.rows.back()),
                            std::max(whole.x, before.columns.back())};
        subjects_[found->second].law = empty_law(name, larger, kind);
        return;
      }
      known[name] = subjects_.size();
      subjects_.push_back({empty_law(name, whole, kind), prepare});
    };
    for (const Extent& latent : latents) {
      for (const Op& op : graph.ops()) {
        for (ConvolutionForm form : {ConvolutionForm::direct, ConvolutionForm::winograd}) {
          const bool same = law_name(graph, op, form) == law_name(graph, op);
          if (form == ConvolutionForm::winograd && same) continue;
          subject(law_name(graph, op, form), law_extent(graph, op, latent), op.kind,
                  [this, &op, form](int64_t rows, int64_t columns) {
                    return operation(graph_, op, form, store_, rows, columns);
                  });
        }
        // A tile of anything may be copied, one of a result stored, one of a sum added onto what is kept.
        if (graph.tensor(op.output).statistics) continue;
        const Tensor& made = graph.tensor(op.output);
        const Extent whole = extent_of(made, latent);
        for (const char* step : {"gather", "store", "accumulate", "emit"}) {
          if (step[0] == 'a' && op.kind != OpKind::add) continue;
          if (step[0] == 'e' && op.output != graph.output()) continue;
          subject(moving_law_name(step, made.channels), {1, whole.t * whole.y, whole.x},
                  op.kind == OpKind::attention ? OpKind::conv : op.kind,
                  [this, step, channels = made.channels](int64_t rows, int64_t columns) {
                    return moving(step, channels, store_, rows, columns);
                  });
        }
      }
      const Tensor& input = graph.tensor(graph.latent());
      subject(moving_law_name("gather", input.channels), {1, latent.t * latent.y, latent.x}, OpKind::conv,
              [this, channels = input.channels](int64_t rows, int64_t columns) {
                return moving("gather", channels, store_, rows, columns);
              });
    }
    for (Subject& entry : subjects_) {
      entry.held_out = between(entry.law);
      entry.found.resize(entry.law.seconds.size() + entry.held_out.size());
    }
  }

  std::vector<Law> run(int sweeps, const std::function<void(double, const std::string&)>& progress) {
    Pool pool(int64_t{1} << 40);
    {
      const PoolScope scope(pool);
      for (int sweep = 0; sweep < sweeps; ++sweep) {
        for (size_t i = 0; i < subjects_.size(); ++i) {
          progress((sweep + double(i) / double(subjects_.size())) / sweeps, subjects_[i].law.name);
          measure(subjects_[i], pool);
        }
      }
      store_.reset();
      for (Subject& subject : subjects_) subject.prepare = {};
    }
    std::vector<Law> laws;
    for (Subject& subject : subjects_) laws.push_back(finished(subject));
    return laws;
  }

 private:
  static double time(const Call& call) {
    std::vector<double> seconds;
    double spent = 0;
    while (spent < kPointSeconds || (seconds.size() < 2 && spent < kOnceSeconds)) {
      const auto start = Clock::now();
      call.run();
      seconds.push_back(seconds_since(start));
      spent += seconds.back();
      if (seconds.size() >= kMostCalls) break;
    }
    // Not the quickest: a decode makes each call as it comes.
    return median(std::move(seconds));
  }

  void measure(Subject& subject, Pool& pool) {
    Law& law = subject.law;
    const size_t width = law.columns.size();
    bool first = true;
    // From the largest down: the first call brings all pages in that the others need.
    for (size_t i = law.seconds.size(); i-- > 0;) {
      if (is_large(law, i) || known(subject.found[i])) continue;
      const Call call = subject.prepare(law.rows[i / width], law.columns[i % width]);
      if (first) call.run();
      first = false;
      const int64_t before = pool.live_bytes();
      pool.start_window();
      subject.found[i].push_back(time(call));
      const int64_t beside = pool.window_peak_bytes() - before - call.result_bytes;
      law.workspace_bytes[i] = std::max({law.workspace_bytes[i], beside, int64_t{0}});
    }
    for (size_t i = 0; i < subject.held_out.size(); ++i) {
      std::vector<double>& found = subject.found[law.seconds.size() + i];
      if (known(found)) continue;
      const Call call = subject.prepare(subject.held_out[i].first, subject.held_out[i].second);
      found.push_back(time(call));
    }
  }

  /// True where a call takes so long that one sweep is enough.
  static bool known(const std::vector<double>& found) {
    return !found.empty() && found.front() >= kOnceSeconds;
  }

  /// The highest tiles are measured at full width alone; those of fewer columns are to the knot before as
  /// these are.
  static bool is_large(const Law& law, size_t i) {
    const size_t width = law.columns.size();
    return law.rows.size() > 2 && i / width + 1 == law.rows.size() && i % width + 1 < width &&
           law.rows.back() * law.columns[i % width] > kLargePositions;
  }

  static Law finished(Subject& subject) {
    Law law = std::move(subject.law);
    const size_t width = law.columns.size();
    for (size_t i = 0; i < law.seconds.size(); ++i) {
      if (!subject.found[i].empty()) law.seconds[i] = median(subject.found[i]);
    }
    for (size_t i = 0; i < law.seconds.size(); ++i) {
      if (!is_large(law, i)) continue;
      law.seconds[i] =
          law.seconds[i - width] * law.seconds.back() / law.seconds[law.seconds.size() - 1 - width];
      law.workspace_bytes[i] = std::max(law.workspace_bytes[i - width], law.workspace_bytes.back());
    }
    for (double& seconds : law.seconds) seconds = std::max(seconds, 1e-9);
    make_monotone(law);
    std::vector<double> errors;
    for (size_t i = 0; i < subject.held_out.size(); ++i) {
      const auto [rows, columns] = subject.held_out[i];
      errors.push_back(std::abs(law.seconds_at(double(rows), double(columns)) /
                                    std::max(median(subject.found[law.seconds.size() + i]), 1e-9) -
                                1));
    }
    law.held_out_points = static_cast<int64_t>(errors.size());
    if (!errors.empty()) {
      std::sort(errors.begin(), errors.end());
      law.held_out_error = errors[errors.size() / 2];
    }
    return law;
  }

  const Graph& graph_;
  std::shared_ptr<Store> store_;
  std::vector<Subject> subjects_;
};

}  // namespace

std::vector<Law> measure_laws(const Graph& graph, const std::vector<Extent>& latents, Dtype dtype, int sweeps,
                              const std::function<void(double, const std::string&)>& progress) {
  const c10::InferenceMode inference;
  return Measuring(graph, latents, dtype).run(sweeps, progress);
}

}  // namespace headroom
