#include <algorithm>
#include <limits>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

/// Work charged per remembered change, so that a hostile plan cannot fill the memory.
constexpr int64_t kChangeWork = 16;

/// Checks the peak bytes of a tier against its limit. A tensor's blocks count in full in all passes from its
/// first to its last. `other_bytes` count in every pass.
void check_limit(View& view, MemoryTier tier, int64_t other_bytes, int64_t limit_bytes, const char* key) {
  int64_t most = 0;
  size_t where = 0;
  for (size_t p = 0; p < view.plan.passes.size(); ++p) {
    int64_t live = other_bytes;
    for (const KeptTensor& entry : view.plan.kept) {
      const auto pass = static_cast<int64_t>(p);
      if (entry.tier != tier || pass < entry.first_pass || pass > entry.last_pass) continue;
      live = add(live, multiply(view.block_bytes(entry), view.block_count(entry)));
    }
    if (live > most) where = p;
    most = std::max(most, live);
  }
  if (most > limit_bytes) {
    view.findings.add(Violation::peak_above_limit, key,
                      "passes[" + std::to_string(where) + "] has " + std::to_string(most) + " bytes in " +
                          name_of(tier) + ", the limit is " + std::to_string(limit_bytes));
  }
}

/// Device blocks of one tensor in a lower tier, over all passes.
class Window {
 public:
  Window(View& view, const KeptTensor& entry, const std::vector<int64_t>& starts,
         std::vector<Change>& changes)
      : view_(view),
        entry_(entry),
        starts_(starts),
        changes_(changes),
        block_bytes_(view.block_bytes(entry)) {}

  bool run() {
    if (!write(static_cast<size_t>(entry_.first_pass))) return false;
    for (auto p = static_cast<size_t>(entry_.first_pass) + 1; p <= static_cast<size_t>(entry_.last_pass);
         ++p) {
      if (!read(p)) return false;
    }
    return true;
  }

 private:
  bool change(int64_t time, int64_t step, int64_t blocks) {
    if (blocks == 0) return true;
    if (!view_.spend(kChangeWork)) return false;
    changes_.push_back(
        {time, step, blocks < 0 ? -multiply(-blocks, block_bytes_) : multiply(blocks, block_bytes_)});
    return true;
  }

  /// A block is allocated by the step that first writes it. Its copy to the lower tier starts once its last
  /// row is written. The block stays on the device until the next band of tiles, or the pass, is done.
  bool write(size_t pass) {
    const int64_t rows = static_cast<int64_t>(view_.tile_count(pass, kRows));
    const int64_t begin = starts_[pass], end = starts_[pass + 1];
    const StepRef& writer = view_.writers[static_cast<size_t>(&entry_ - view_.plan.kept.data())].front();
    std::vector<Interval> bands(static_cast<size_t>(view_.block_count(entry_)),
                                {std::numeric_limits<int64_t>::max(), 0});
    for (int64_t y = 0; y < rows; ++y) {
      const Interval blocks =
          view_.blocks_with(entry_, view_.image(pass, entry_.tensor, kRows, static_cast<size_t>(y)));
      if (!view_.spend(1 + blocks.length())) return false;
      for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        Interval& band = bands[static_cast<size_t>(block)];
        band = {std::min(band.begin, begin + y), std::max(band.end, begin + y + 1)};
      }
    }
    for (const Interval& band : bands) {
      if (!change(band.begin, static_cast<int64_t>(writer.step), 1)) return false;
      if (!change(std::min(band.end + 1, end), -1, -1)) return false;
    }
    return true;
  }

  /// While a band of tiles runs, its own blocks are on the device, and the blocks of the next band are being
  /// fetched.
  bool read(size_t pass) {
    const std::vector<std::pair<StepRef, size_t>> readers = readers_in(pass);
    const int64_t begin = starts_[pass], end = starts_[pass + 1];
    if (view_.work_left == 0) return false;
    if (readers.empty()) return true;
    // Keys and values are read block by block, with double buffering: two blocks of one batch item.
    for (const auto& [ref, input] : readers) {
      if (!reads_whole(view_.step(ref), input)) continue;
      const int64_t bytes =
          multiply(std::min<int64_t>(2, view_.block_count(entry_)), block_bytes_ / view_.plan.micro_batch);
      changes_.push_back({begin, -1, bytes});
      changes_.push_back({end, -1, -bytes});
      return true;
    }
    std::vector<int64_t> last_read(static_cast<size_t>(view_.block_count(entry_)), -2);
    int64_t there = 0;   // blocks on the device during the band before the last one examined
    int64_t before = 0;  // blocks read by the last band examined
    for (int64_t now = begin; now < end; ++now) {
      int64_t own = 0, fresh = 0;  // own: blocks that this band reads; fresh: of these, not read by the band
                                   // before
      for (const auto& [ref, input] : readers) {
        const Interval rows_read = view_.needed(ref, input, kRows, static_cast<size_t>(now - begin));
        const Interval blocks = view_.blocks_with(entry_, rows_read);
        if (!view_.spend(1 + blocks.length())) return false;
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
          int64_t& last = last_read[static_cast<size_t>(block)];
          if (last == now) continue;
          ++own;
          fresh += last != now - 1;
          last = now;
        }
      }
      if (now > begin) {
        if (!change(now - 1, -1, before + fresh - there)) return false;
        there = before + fresh;
      }
      before = own;
    }
    return change(end - 1, -1, before - there) && change(end, -1, -before);
  }

  std::vector<std::pair<StepRef, size_t>> readers_in(size_t pass) {
    std::vector<std::pair<StepRef, size_t>> readers;
    const std::vector<Step>& steps = view_.plan.passes[pass].steps;
    if (!view_.spend(static_cast<int64_t>(steps.size()))) return {};
    for (size_t s = 0; s < steps.size(); ++s) {
      for (size_t i = 0; i < steps[s].inputs.size(); ++i) {
        if (steps[s].inputs[i] == Operand{entry_.tensor, -1}) readers.push_back({{pass, s}, i});
      }
    }
    return readers;
  }

  View& view_;
  const KeptTensor& entry_;
  const std::vector<int64_t>& starts_;
  std::vector<Change>& changes_;
  const int64_t block_bytes_;
};

}  // namespace

void check_lower_tiers(View& view) {
  const Plan& plan = view.plan;
  const bool keeps = std::any_of(plan.kept.begin(), plan.kept.end(),
                                 [](const KeptTensor& entry) { return entry.tier == MemoryTier::host; });
  // A plan without a limit keeps no tensors in host memory, but its weights may be there.
  if (keeps || plan.host_limit_bytes > 0)
    check_limit(view, MemoryTier::host, plan.host_weights_bytes, plan.host_limit_bytes, "host_limit_bytes");
  check_limit(view, MemoryTier::scratch, 0, plan.scratch_limit_bytes, "scratch.limit_bytes");
}

bool append_window(View& view, const KeptTensor& entry, const std::vector<int64_t>& starts,
                   std::vector<Change>& changes) {
  return Window(view, entry, starts, changes).run();
}

}  // namespace headroom::validation
