#include <algorithm>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

/// Follows values through the passes. Checks that everything a step reads has been made completely and is
/// still stored.
class FlowCheck {
 public:
  explicit FlowCheck(View& view)
      : view_(view), measured_(view.graph.tensors().size()), read_in_last_pass_(view.plan.kept.size()) {}

  void run() {
    for_each_step([&](const StepRef& ref) { note_whole_writes(ref); });
    for (const KeptTensor& entry : view_.plan.kept) check_written(entry);
    for_each_step([&](const StepRef& ref) { check_step(ref); });
    for (const KeptTensor& entry : view_.plan.kept) check_released(entry);
    if (emitted_.empty()) {
      view_.findings.add(Violation::wrong_output, "passes",
                         "no step emits " + view_.name(view_.graph.output()));
    }
  }

 private:
  template <typename F>
  void for_each_step(F f) {
    for (size_t p = 0; p < view_.plan.passes.size(); ++p) {
      for (size_t s = 0; s < view_.well_formed[p].size() && !view_.findings.full(); ++s) {
        if (view_.well_formed[p][s]) f(StepRef{p, s});
      }
    }
  }

  void refuse(Violation::Kind kind, const StepRef& ref, std::string what) {
    view_.findings.add(kind, view_.place(ref), std::move(what));
  }

  void note_whole_writes(const StepRef& ref) {
    const Step& step = view_.step(ref);
    if (counts_positions(step.kind)) {
      std::vector<StepRef>& steps = measured_[index(step.tensor)];
      steps.push_back(ref);
      if (steps.size() > 1)
        refuse(Violation::statistics_twice, ref, "measured before, by " + view_.place(steps[0]));
    }
    if (step.kind != OpKind::emit) return;
    emitted_.push_back(ref);
    if (emitted_.size() > 1) refuse(Violation::wrong_output, ref, "the output is emitted a second time");
  }

  void check_step(const StepRef& ref) {
    const Step& step = view_.step(ref);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (view_.graph.tensor(step.inputs[i].tensor).statistics) {
        check_statistics_operand(ref, step.inputs[i].tensor);
      } else if (step.inputs[i].step != -1) {
        check_tile_operand(ref, i);
      } else if (step.inputs[i].tensor != view_.graph.input()) {
        check_kept_operand(ref, i, *view_.kept(step.inputs[i].tensor));
      }
    }
    if (writes_whole(step.kind) || writes_blocks(step)) {
      check_partition(ref);
    } else {
      check_chunks(ref);
      check_bands(ref);
      if (step.edges == Edges::reflect) check_reflected(ref);
    }
  }

  /// Reflected padding copies positions of the tile, so the tile must contain them. Replicated padding needs
  /// no check: a tile with positions outside the picture always contains the border position.
  void check_reflected(const StepRef& ref) {
    on_every_axis(ref, [&](Axis axis, size_t i) {
      if (axis == kTime) return true;
      const Interval tile = view_.region(ref, axis, i);
      const int64_t last = view_.picture(view_.step(ref).tensor, axis).end - 1;
      // `before` positions outside copy as many positions from position 1 on. The far side works likewise.
      const int64_t before = std::min(last, -tile.begin), after = std::min(last, tile.end - 1 - last);
      if (before < tile.end && (after < 1 || tile.begin <= last - after)) return true;
      refuse(Violation::missing_halo, ref,
             "reflects positions of " + view_.name(view_.step(ref).tensor) + " that tile " +
                 std::to_string(i) + " does not make along " + letter(axis) + "; it makes " + to_text(tile));
      return false;
    });
  }

  void check_statistics_operand(const StepRef& ref, TensorId statistics) {
    const std::vector<StepRef>& steps = measured_[index(statistics)];
    if (steps.empty()) {
      refuse(Violation::statistics_missing, ref, "no step measures " + view_.name(statistics));
    } else if (steps.back().pass >= ref.pass) {
      refuse(Violation::read_before_write, ref,
             view_.name(statistics) + " is complete only after passes[" + std::to_string(steps.back().pass) +
                 "]");
    }
  }

  /// True if `holds(axis, i)` for every tile along every axis; stops at the first failure. A box contains
  /// another one if it does so along each axis. So axes are checked separately, not as a product.
  template <typename F>
  bool on_every_axis(const StepRef& ref, F holds) {
    for (Axis axis : kAxes) {
      const size_t count = view_.tile_count(ref.pass, axis);
      if (!view_.spend(static_cast<int64_t>(count))) return false;
      for (size_t i = 0; i < count; ++i) {
        if (!holds(axis, i)) return false;
      }
    }
    return true;
  }

  void check_tile_operand(const StepRef& ref, size_t input) {
    const Operand& operand = view_.step(ref).inputs[input];
    const StepRef maker{ref.pass, static_cast<size_t>(operand.step)};
    on_every_axis(ref, [&](Axis axis, size_t i) {
      // A step that has already run ahead to the end of the clip or picture makes no more positions and reads
      // nothing.
      if (i > 0 && view_.carries(ref, axis) && makes_none(ref, axis, i)) return true;
      const Interval needed = view_.needed(ref, input, axis, i);
      const Interval made = view_.region(maker, axis, i);
      if (made.contains(needed)) return true;
      refuse(Violation::missing_halo, ref,
             "needs " + to_text(needed) + " of " + view_.name(operand.tensor) + " along " + letter(axis) +
                 " for tile " + std::to_string(i) + "; step " + std::to_string(operand.step) + " makes " +
                 to_text(made));
      return false;
    });
  }

  bool makes_none(const StepRef& ref, Axis axis, size_t i) const {
    return computes_tile(view_.step(ref)) && view_.made(ref, axis, i).length() == 0;
  }

  /// True if the step reads no position of the operand that belongs to another tile of the pass.
  bool reads_own_only(const StepRef& ref, size_t input) {
    const TensorId read = view_.step(ref).inputs[input].tensor;
    return on_every_axis(ref, [&](Axis axis, size_t i) {
      const Interval needed = intersect(view_.needed(ref, input, axis, i), view_.picture(read, axis));
      return view_.image(ref.pass, read, axis, i).contains(needed);
    });
  }

  void check_kept_operand(const StepRef& ref, size_t input, const KeptTensor& entry) {
    const auto pass = static_cast<int64_t>(ref.pass);
    const std::string name = view_.name(entry.tensor);
    const size_t slot = slot_of(entry);
    if (pass == entry.last_pass) read_in_last_pass_[slot] = true;
    if (pass < entry.first_pass) {
      return refuse(Violation::read_before_write, ref,
                    name + " is written in passes[" + std::to_string(entry.first_pass) + "]");
    }
    if (pass > entry.last_pass) {
      return refuse(Violation::read_after_release, ref,
                    name + " is released in passes[" + std::to_string(entry.last_pass) + "]");
    }
    if (pass == entry.first_pass) {
      const std::vector<StepRef>& writers = view_.writers[slot];
      const bool written = std::any_of(writers.begin(), writers.end(), [&](const StepRef& writer) {
        return writer.pass == ref.pass && writer.step < ref.step;
      });
      if (!written || !reads_own_only(ref, input)) {
        return refuse(Violation::read_before_write, ref,
                      name + " is written by this pass, and this tile reads parts that are not yet written");
      }
    }
    if (entry.rows) check_stored(ref, input, entry);
    check_takeover(ref, input, entry);
  }

  /// Checks that the rows that the step reads are stored. check_transfers() checks that other ranks send
  /// their rows.
  void check_stored(const StepRef& ref, size_t input, const KeptTensor& entry) {
    const Interval all = view_.picture(entry.tensor, kRows);
    const size_t bands = view_.tile_count(ref.pass, kRows);
    if (!view_.spend(static_cast<int64_t>(bands))) return;
    for (size_t y = 0; y < bands; ++y) {
      const Interval needed = intersect(view_.needed(ref, input, kRows, y), all);
      if (needed.length() == 0 || entry.rows->contains(needed)) continue;
      return refuse(Violation::missing_halo, ref,
                    "needs " + to_text(needed) + " of " + view_.name(entry.tensor) + " along y for tile " +
                        std::to_string(y) + "; stored are " + to_text(*entry.rows));
    }
  }

  /// If another tensor takes over the operand's blocks in this pass, the sweep overwrites the operand's
  /// values as it advances.
  void check_takeover(const StepRef& ref, size_t input, const KeptTensor& entry) {
    if (static_cast<int64_t>(ref.pass) != entry.last_pass) return;
    if (!view_.spend(static_cast<int64_t>(view_.plan.kept.size()))) return;
    for (const KeptTensor& taker : view_.plan.kept) {
      if (taker.in_place_of != entry.tensor) continue;
      for (const StepRef& write : view_.writers[slot_of(taker)]) {
        if (write.pass != ref.pass || write == ref) continue;
        if (write.step < ref.step || !reads_own_only(ref, input)) {
          refuse(Violation::read_after_release, ref,
                 "reads " + view_.name(entry.tensor) + " where " + view_.name(taker.tensor) +
                     " has replaced it");
        }
      }
    }
  }

  /// Own positions of different tiles must not overlap. They cannot leave gaps, since the grid has none.
  void check_partition(const StepRef& ref) {
    const Step& step = view_.step(ref);
    const TensorId read = writes_blocks(step) ? step.tensor : step.inputs[0].tensor;
    on_every_axis(ref, [&](Axis axis, size_t i) {
      if (i == 0) return true;
      const Interval before = view_.image(ref.pass, read, axis, i - 1);
      const Interval own = view_.image(ref.pass, read, axis, i);
      if (before.end == own.begin) return true;
      const bool counts = counts_positions(step.kind);
      refuse(counts ? Violation::statistics_twice : Violation::computed_twice, ref,
             "tiles " + std::to_string(i - 1) + " and " + std::to_string(i) + " along " + letter(axis) +
                 " both own " + to_text({own.begin, before.end}) + " of " + view_.name(read));
      return false;
    });
  }

  /// A tile begins with the last frames of the previous chunk, so chunks must not overlap. They do not
  /// overlap if the grid has no more frames than the tensor.
  void check_chunks(const StepRef& ref) {
    const TensorId made = view_.step(ref).tensor;
    const size_t chunks = view_.tile_count(ref.pass, kTime);
    if (chunks < 2 || !view_.spend(static_cast<int64_t>(chunks))) return;
    for (size_t i = 1; i < chunks; ++i) {
      const Interval before = view_.image(ref.pass, made, kTime, i - 1);
      const Interval own = view_.image(ref.pass, made, kTime, i);
      if (before.end == own.begin) continue;
      return refuse(Violation::computed_twice, ref,
                    "chunks " + std::to_string(i - 1) + " and " + std::to_string(i) + " both make frames " +
                        to_text({own.begin, before.end}));
    }
  }

  /// Every tile of a step that carries rows must contain a row of the picture, unless the tile is empty.
  /// Padding outside the picture is derived from such rows, except zeros.
  void check_bands(const StepRef& ref) {
    if (!view_.carries(ref, kRows) || view_.step(ref).edges == Edges::zeros) return;
    const size_t bands = view_.tile_count(ref.pass, kRows);
    if (!view_.spend(static_cast<int64_t>(bands))) return;
    const Interval all = view_.picture(view_.step(ref).tensor, kRows);
    for (size_t i = 0; i < bands; ++i) {
      const Interval rows = view_.region(ref, kRows, i);
      if (rows.length() == 0 || intersect(rows, all).length() > 0) continue;
      return refuse(
          Violation::missing_halo, ref,
          "has no row of the picture for tile " + std::to_string(i) + " along y; it makes " + to_text(rows));
    }
  }

  void check_written(const KeptTensor& entry) {
    const std::vector<StepRef>& writers = view_.writers[slot_of(entry)];
    if (writers.empty()) {
      view_.findings.add(Violation::skipped_region, view_.place(entry), "no step writes it");
    } else if (writers.size() > 1) {
      refuse(Violation::computed_twice, writers[1], "written before, by " + view_.place(writers[0]));
    } else if (static_cast<int64_t>(writers[0].pass) != entry.first_pass) {
      view_.findings.add(Violation::malformed, view_.place(entry),
                         "first_pass is " + std::to_string(entry.first_pass) + ", but " +
                             view_.place(writers[0]) + " writes it");
    }
  }

  void check_released(const KeptTensor& entry) {
    if (!read_in_last_pass_[slot_of(entry)]) {
      view_.findings.add(Violation::never_released, view_.place(entry),
                         "no step of its last pass, passes[" + std::to_string(entry.last_pass) +
                             "], reads it, so none hands its blocks back");
    }
    if (entry.in_place_of != TensorId{-1}) check_in_place(entry, *view_.kept(entry.in_place_of));
  }

  void check_in_place(const KeptTensor& entry, const KeptTensor& base) {
    const auto report = [&](Violation::Kind kind, std::string what) {
      view_.findings.add(kind, view_.place(entry), std::move(what));
    };
    if (entry.block_rows != base.block_rows) {
      report(Violation::malformed, "its block_rows are not those of " + view_.name(base.tensor));
    }
    if (entry.rows != base.rows) {
      report(Violation::malformed, "its rows are not those of " + view_.name(base.tensor));
    }
    if (base.last_pass > entry.first_pass) {
      report(Violation::block_conflict, view_.name(base.tensor) + " is read until passes[" +
                                            std::to_string(base.last_pass) +
                                            "], after its blocks were taken over");
    }
    for (const KeptTensor* other = view_.plan.kept.data(); other != &entry; ++other) {
      if (other->in_place_of == entry.in_place_of) {
        report(Violation::block_conflict, view_.name(other->tensor) + " takes over the same blocks");
      }
    }
  }

  size_t slot_of(const KeptTensor& entry) const {
    return static_cast<size_t>(&entry - view_.plan.kept.data());
  }

  View& view_;
  std::vector<std::vector<StepRef>> measured_;  ///< by tensor: the steps that measure these statistics
  std::vector<bool> read_in_last_pass_;         ///< by entry of plan.kept
  std::vector<StepRef> emitted_;
};

}  // namespace

void check_flow(View& view) {
  FlowCheck(view).run();
}

}  // namespace headroom::validation
