#include <algorithm>
#include <limits>
#include <tuple>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

/// The bands during which one block of a kept tensor is in use, in the time of pass_starts().
struct Lifetime {
  int64_t acquired = std::numeric_limits<int64_t>::max();
  int64_t released = -1;  ///< last band that needs the block
};

class MemoryCheck {
 public:
  explicit MemoryCheck(View& view) : view_(view), starts_(pass_starts(view)) {}

  void run() {
    lifetimes_.reserve(view_.plan.kept.size());
    for (const KeptTensor& entry : view_.plan.kept) {
      lifetimes_.push_back(lifetimes_of(entry));
      if (view_.work_left == 0) return;  // reported by spend()
    }
    check_lower_tiers(view_);
    check_values();
    check_bytes();
  }

 private:
  /// Widens the lifetimes of the blocks that one pass touches, which contain rows of `rows_of(y)` for some
  /// tile y. A block has all frames of its rows.
  template <typename F>
  bool touch(const KeptTensor& entry, size_t pass, F rows_of, std::vector<Lifetime>& blocks) {
    const size_t rows = view_.tile_count(pass, kRows);
    for (size_t y = 0; y < rows; ++y) {
      const Interval touched = view_.blocks_with(entry, rows_of(y));
      if (!view_.spend(1 + touched.length())) return false;
      for (int64_t block = touched.begin; block < touched.end; ++block) {
        Lifetime& life = blocks[static_cast<size_t>(block)];
        life.acquired = std::min(life.acquired, starts_[pass] + static_cast<int64_t>(y));
        life.released = std::max(life.released, starts_[pass] + static_cast<int64_t>(y));
      }
    }
    return true;
  }

  std::vector<Lifetime> lifetimes_of(const KeptTensor& entry) {
    const auto count = static_cast<size_t>(view_.block_count(entry));
    const auto first = static_cast<size_t>(entry.first_pass), last = static_cast<size_t>(entry.last_pass);
    // In a lower tier, a tensor owns its blocks during all of its passes, so transfers never overlap.
    if (entry.tier != MemoryTier::device)
      return std::vector<Lifetime>(count, {starts_[first], starts_[last + 1] - 1});
    std::vector<Lifetime> bands(count);
    std::vector<Lifetime> reads(count);
    if (!touch_written(entry, first, bands) || !touch_read(entry, last, reads)) return bands;
    bool read_further_down = false;
    for (size_t band = count; band-- > 0;) {
      int64_t released = reads[band].released;
      // A block that the last pass does not read stays until this pass ends. An exception are unread blocks
      // above a block that the pass reads: the sweep passes them at once and frees them.
      if (released < 0) released = read_further_down ? starts_[last] : starts_[last + 1] - 1;
      read_further_down = read_further_down || reads[band].released >= 0;
      bands[band].released = std::max(bands[band].released, released);
    }
    return bands;
  }

  bool touch_written(const KeptTensor& entry, size_t pass, std::vector<Lifetime>& bands) {
    // Rows received from other ranks are allocated when their neighbours are written.
    const Interval stored = view_.kept_rows(entry);
    const size_t last_tile = view_.tile_count(pass, kRows) - 1;
    const auto written = [&](size_t y) {
      Interval rows = view_.image(pass, entry.tensor, kRows, y);
      if (view_.plan.share.alone()) return rows;
      if (y == 0) rows.begin = std::min(rows.begin, stored.begin);
      if (y == last_tile) rows.end = std::max(rows.end, stored.end);
      return rows;
    };
    return touch(entry, pass, written, bands);
  }

  bool touch_read(const KeptTensor& entry, size_t pass, std::vector<Lifetime>& reads) {
    const std::vector<Step>& steps = view_.plan.passes[pass].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
        if (steps[s].inputs[i] != Operand{entry.tensor, -1}) continue;
        const auto needed = [&](size_t y) { return view_.needed({pass, s}, i, kRows, y); };
        if (reads_whole(steps[s], i)) {
          for (Lifetime& life : reads) life.released = starts_[pass + 1] - 1;
        } else if (!touch(entry, pass, needed, reads)) {
          return false;
        }
      }
    }
    return true;
  }

  const Lifetime& lifetime(const KeptTensor& entry, int64_t band) const {
    return lifetimes_[static_cast<size_t>(&entry - view_.plan.kept.data())][static_cast<size_t>(band)];
  }

  int64_t band_count(const KeptTensor& entry) const {
    return static_cast<int64_t>(lifetimes_[static_cast<size_t>(&entry - view_.plan.kept.data())].size());
  }

  /// Bands of tiles of a pass, half-open.
  struct Bands {
    size_t begin = 0, end = 0;
  };

  /// The steps of a tile, split where blocks are allocated. A tensor's blocks are allocated when it is first
  /// written, so earlier steps run without them.
  struct Stages {
    std::vector<size_t> begins;       ///< first step of each stage
    std::vector<int64_t> tile_bytes;  ///< peak bytes of tiles in each stage
    int64_t most = 0;                 ///< peak over all stages
  };

  /// Stages of a pass on these bands of tiles.
  Stages stages_of(size_t pass, const Bands& bands) const {
    Stages stages{{0}, {0}, 0};
    const std::vector<int64_t> live = live_tiles(pass, bands);
    for (size_t s = 0; s < live.size(); ++s) {
      // Only a band's first tile runs before its blocks are allocated. The band's other tiles and chunks find
      // the blocks in place.
      const Step& step = view_.plan.passes[pass].steps[s];
      const bool begins = (step.kind == OpKind::store || writes_blocks(step)) &&
                          view_.tile_count(pass, kColumns) == 1 && view_.tile_count(pass, kTime) == 1;
      if (begins) {
        stages.begins.push_back(s);
        stages.tile_bytes.push_back(0);
      }
      stages.tile_bytes.back() = std::max(stages.tile_bytes.back(), live[s]);
      stages.most = std::max(stages.most, live[s]);
    }
    return stages;
  }

  std::vector<Change> changes() const {
    std::vector<Change> list;
    for (const KeptTensor& entry : view_.plan.kept) {
      if (entry.tier != MemoryTier::device) {
        if (!append_window(view_, entry, starts_, list)) return {};
        continue;
      }
      const int64_t band_bytes = view_.block_bytes(entry);
      const KeptTensor* base = entry.in_place_of == TensorId{-1} ? nullptr : view_.kept(entry.in_place_of);
      const std::vector<StepRef>& writers =
          view_.writers[static_cast<size_t>(&entry - view_.plan.kept.data())];
      for (int64_t band = 0; band < band_count(entry); ++band) {
        Lifetime life = lifetime(entry, band);
        // Blocks written in place are counted once: for the base until its last use, then for the other
        // tensor.
        if (base != nullptr) life.acquired = std::max(life.acquired, lifetime(*base, band).released + 1);
        if (life.acquired > life.released) continue;
        const int64_t step = base == nullptr ? static_cast<int64_t>(writers[0].step) : -1;
        list.push_back({life.acquired, step, band_bytes});
        list.push_back({life.released + 1, -1, -band_bytes});
      }
    }
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return std::tie(a.time, a.step, a.bytes) < std::tie(b.time, b.step, b.bytes);
    });
    return list;
  }

  /// Peak bytes of kept blocks and tiles in each pass.
  std::vector<int64_t> working_peaks() const {
    const std::vector<Change> list = changes();
    std::vector<int64_t> peaks;
    int64_t live = 0;
    size_t next = 0;
    for (size_t p = 0; p < view_.plan.passes.size(); ++p) {
      const size_t bands = view_.tile_count(p, kRows);
      // The last band may be lower than the others. If rows are carried, the first band has no carried rows.
      const bool first_differs = view_.plan.passes[p].carries_rows && bands > 1;
      const Stages of_all = stages_of(p, {first_differs ? size_t{1} : 0, bands});
      const Stages of_last = stages_of(p, {bands - 1, bands});
      const Stages of_first = first_differs ? stages_of(p, {0, 1}) : Stages{};
      const int64_t last_band = starts_[p + 1] - 1;
      int64_t peak = 0;
      for (int64_t now = starts_[p]; now <= last_band;) {
        const bool is_first = first_differs && now == starts_[p];
        const Stages& stages = is_first ? of_first : now == last_band ? of_last : of_all;
        for (size_t stage = 0; stage < stages.begins.size(); ++stage) {
          const bool last = stage + 1 == stages.begins.size();
          const int64_t until =
              last ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(stages.begins[stage + 1]);
          for (; next < list.size() && list[next].time <= now && list[next].step < until; ++next) {
            live = std::max<int64_t>(0, add(live, list[next].bytes));
          }
          peak = std::max(peak, add(live, stages.tile_bytes[stage]));
        }
        const int64_t change = next < list.size() ? list[next].time : starts_[p + 1];
        // Bands in which no block is allocated or freed need the same memory.
        if (std::min(change, last_band) > now + 1) peak = std::max(peak, add(live, of_all.most));
        if (change > last_band && now < last_band) peak = std::max(peak, add(live, of_last.most));
        now = std::max(change, now + 1);
      }
      peaks.push_back(peak);
    }
    return peaks;
  }

  /// Bytes that tiles carry: frames from chunk to chunk, or the rows of all tiles of a band to the band
  /// below. They count throughout the pass. They are the earlier positions at the beginning of a step's tile,
  /// unless the step reads them from a kept tensor.
  int64_t carried_bytes(size_t pass, const Bands& bands) const {
    const Axis axis = view_.plan.passes[pass].carries_rows ? kRows : kTime;
    if (view_.tile_count(pass, axis) < 2) return 0;
    int64_t sum = 0;
    const std::vector<Step>& steps = view_.plan.passes[pass].steps;
    for (size_t s = 0; s < steps.size(); ++s) {
      if (!computes_tile(steps[s]) || copies_kept(steps[s])) continue;
      const StepRef ref{pass, s};
      sum = add(sum, multiply(axis == kRows ? row_bytes(ref) : tile_bytes(ref, bands, true),
                              at(steps[s].halo.before, axis)));
    }
    return sum;
  }

  /// Bytes of one row of a step's tiles in a band, for all items of a micro-batch.
  int64_t row_bytes(const StepRef& ref) const {
    int64_t columns = 0;
    for (size_t x = 0; x < view_.tile_count(ref.pass, kColumns); ++x)
      columns = add(columns, view_.region(ref, kColumns, x).length());
    const int64_t channels = view_.graph.tensor(view_.step(ref).tensor).channels;
    return multiply(multiply(multiply(columns, channels), view_.tile_element_bytes()),
                    view_.plan.micro_batch);
  }

  /// Bytes of a step's largest tile in these bands, for all items of a micro-batch. With `of_frame`, bytes of
  /// one frame of it.
  int64_t tile_bytes(const StepRef& ref, const Bands& bands, bool of_frame = false) const {
    const Step& step = view_.step(ref);
    if (!computes_tile(step)) return 0;
    int64_t bytes = multiply(view_.graph.tensor(step.tensor).channels, view_.tile_element_bytes());
    for (Axis axis : kAxes) {
      if (axis == kTime && of_frame) continue;
      int64_t longest = 0;
      const Bands tiles = axis == kRows ? bands : Bands{0, view_.tile_count(ref.pass, axis)};
      for (size_t i = tiles.begin; i < tiles.end; ++i) {
        longest = std::max(longest, view_.region(ref, axis, i).length());
      }
      bytes = multiply(bytes, longest);
    }
    return multiply(bytes, view_.plan.micro_batch);
  }

  /// True if an add can reuse the tile of an operand that nothing reads afterwards.
  bool reuses_operand(const StepRef& ref, const std::vector<size_t>& last_reader,
                      const std::vector<int64_t>& bytes) const {
    const Step& step = view_.step(ref);
    // An add that keeps positions of the previous tile needs its own tile for them.
    const bool keeps_earlier = std::any_of(kAxes.begin(), kAxes.end(), [&](Axis axis) {
      return view_.carries(ref, axis) && at(step.halo.before, axis) > 0;
    });
    if (step.kind != OpKind::add || keeps_earlier) return false;
    return std::any_of(step.inputs.begin(), step.inputs.end(), [&](const Operand& input) {
      if (input.step == -1) return false;
      const auto maker = static_cast<size_t>(input.step);
      return last_reader[maker] == ref.step && bytes[maker] >= bytes[ref.step];
    });
  }

  /// Bytes of tiles that are live while each step of the pass runs. A tile lives until its last reader.
  std::vector<int64_t> live_tiles(size_t pass, const Bands& bands) const {
    const std::vector<Step>& steps = view_.plan.passes[pass].steps;
    std::vector<size_t> last_reader(steps.size());
    std::vector<int64_t> bytes(steps.size());
    for (size_t s = 0; s < steps.size(); ++s) {
      last_reader[s] = s;
      bytes[s] = tile_bytes({pass, s}, bands);
      for (const Operand& input : steps[s].inputs) {
        if (input.step != -1) last_reader[static_cast<size_t>(input.step)] = s;
      }
    }
    std::vector<int64_t> freed_after(steps.size(), 0);
    std::vector<int64_t> at_step;
    const int64_t carried = carried_bytes(pass, bands);
    int64_t live = carried;
    for (size_t s = 0; s < steps.size(); ++s) {
      const int64_t before = live;
      live = add(live, bytes[s]);
      at_step.push_back(reuses_operand({pass, s}, last_reader, bytes) ? before : live);
      freed_after[last_reader[s]] = add(freed_after[last_reader[s]], bytes[s]);
      live = std::max<int64_t>(carried, live - freed_after[s]);  // sums stop at the largest number
    }
    return at_step;
  }

  /// Checks tile sizes on CUDA, where libraries index the values of a tile with 32 bits.
  void check_values() {
    constexpr int64_t kMostValues = std::numeric_limits<int32_t>::max();
    if (!view_.on_cuda()) return;
    for (size_t p = 0; p < view_.plan.passes.size(); ++p) {
      for (size_t s = 0; s < view_.plan.passes[p].steps.size() && !view_.findings.full(); ++s) {
        const int64_t values = tile_bytes({p, s}, {0, view_.tile_count(p, kRows)}) / view_.plan.micro_batch /
                               view_.tile_element_bytes();
        if (values <= kMostValues) continue;
        view_.findings.add(Violation::malformed, view_.place(StepRef{p, s}),
                           "a tile of " + std::to_string(values) + " values of one item, on cuda at most " +
                               std::to_string(kMostValues));
      }
    }
  }

  int64_t positions_of(TensorId tensor) const {
    return multiply(multiply(view_.picture(tensor, kTime).end, view_.picture(tensor, kRows).end),
                    view_.picture(tensor, kColumns).end);
  }

  /// Checks that the reserve covers a picture that stays in memory.
  void check_picture() {
    const Request& request = view_.plan.request;
    if (!request.picture_dtype) return;
    const TensorId output = view_.graph.output();
    const int64_t values =
        multiply(multiply(request.batch, view_.graph.tensor(output).channels), positions_of(output));
    const int64_t bytes = multiply(values, *request.picture_dtype == Dtype::fp32 ? 4 : 2);
    if (view_.plan.reserve_bytes >= bytes) return;
    view_.findings.add(Violation::peak_understated, "reserve_bytes",
                       "expected room for the picture of " + std::to_string(bytes) + " bytes, found " +
                           std::to_string(view_.plan.reserve_bytes));
  }

  void check_bytes() {
    const Plan& plan = view_.plan;
    constexpr int64_t kFloatBytes = 4;  // the input is fp32 in every dtype
    const TensorId input = view_.graph.input();
    const int64_t input_bytes = multiply(multiply(positions_of(input), plan.micro_batch),
                                         multiply(view_.graph.tensor(input).channels, kFloatBytes));
    const int64_t throughout = add(add(plan.reserve_bytes, input_bytes), state_bytes(view_));
    check_picture();
    const std::vector<int64_t> weights = check_weights(view_);
    const std::vector<int64_t> working = working_peaks();
    if (view_.work_left == 0) return;  // reported by spend()
    int64_t predicted = 0;
    for (size_t p = 0; p < plan.passes.size(); ++p) {
      const std::string place = "passes[" + std::to_string(p) + "]";
      const int64_t needed = add(add(weights[p], throughout), working[p]);
      if (needed > plan.limit_bytes) {
        view_.findings.add(Violation::peak_above_limit, place,
                           "needs at least " + std::to_string(needed) + " bytes, the limit is " +
                               std::to_string(plan.limit_bytes));
      }
      if (plan.passes[p].predicted_peak_bytes < needed) {
        view_.findings.add(Violation::peak_understated, place + ".predicted.peak_bytes",
                           "weights, blocks and tiles take " + std::to_string(needed) +
                               " bytes, predicted are " +
                               std::to_string(plan.passes[p].predicted_peak_bytes));
      }
      predicted = std::max(predicted, plan.passes[p].predicted_peak_bytes);
    }
    if (plan.predicted_peak_bytes != predicted) {
      view_.findings.add(Violation::peak_understated, "predicted.peak_bytes",
                         "expected the largest of the passes', " + std::to_string(predicted) + ", found " +
                             std::to_string(plan.predicted_peak_bytes));
    }
    if (plan.predicted_peak_bytes > plan.limit_bytes) {
      view_.findings.add(Violation::peak_above_limit, "predicted.peak_bytes",
                         std::to_string(plan.predicted_peak_bytes) + " bytes predicted, the limit is " +
                             std::to_string(plan.limit_bytes));
    }
  }

  View& view_;
  std::vector<int64_t> starts_;                   ///< pass_starts()
  std::vector<std::vector<Lifetime>> lifetimes_;  ///< for each entry of plan.kept, by block of one item
};

}  // namespace

void check_memory(View& view) {
  MemoryCheck(view).run();
}

}  // namespace headroom::validation
