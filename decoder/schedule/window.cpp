#include "decoder/schedule/window.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/row_readers.h"
#include "decoder/schedule/tiles.h"

namespace headroom {
namespace {

class WindowBuilder {
 public:
  WindowBuilder(const Graph& graph, const Pass& pass, const TensorUse& use, const Sizes& sizes)
      : graph_(graph),
        pass_(pass),
        use_(use),
        readers_(graph, pass, use.tensor, sizes),
        bands_(pass.tiles.y.size()),
        block_count_(block_count(graph, use, sizes)) {
    window_.use = use;
    window_.staged = window_.below_device() && !use.written && readers_.reads_whole();
    const int64_t of_item = kept_block_bytes(graph, use, sizes);
    window_.block_bytes = window_.staged ? of_item : sizes.items * of_item;
    window_.first.reserve(bands_ + 1);
    window_.before.reserve(bands_);
    window_.after.reserve(bands_);
  }

  Window build() {
    if (use_.written) {
      window_.store_step = store_step(pass_, use_.tensor);
      write();
    } else if (window_.staged) {
      stage();
    } else if (window_.below_device()) {
      fetch();
    } else {
      read();
    }
    return std::move(window_);
  }

 private:
  void write() {
    for (size_t band = 0; band < bands_; ++band) {
      const Interval rows = written_rows(band);
      if (band == 0) window_.first.push_back(0);
      window_.before.push_back(band == 0 ? block_from(rows.begin) : window_.after.back());
      window_.after.push_back(block_from(rows.end));
      const int64_t completed = window_.below_device() ? rows.begin / use_.block_rows : 0;
      window_.first.push_back(static_cast<int32_t>(completed));
    }
  }

  void stage() {
    const auto places = static_cast<int32_t>(std::min(block_count_, kStagedBlocks));
    window_.first.assign(bands_ + 1, 0);
    window_.before.assign(bands_, places);
    window_.after = window_.before;
  }

  void fetch() {
    for (size_t band = 0; band < bands_; ++band) {
      const Interval read = blocks_read(band);
      window_.first.push_back(static_cast<int32_t>(std::min(read.begin, block_count_)));
      window_.fetched.push_back(static_cast<int32_t>(read.end));
    }
    for (size_t band = 0; band < bands_; ++band) {
      const int32_t next = band + 1 < bands_ ? window_.fetched[band + 1] : 0;
      window_.before.push_back(std::max({window_.first[band], window_.fetched[band], next}));
    }
    window_.after = window_.before;
    window_.first.push_back(static_cast<int32_t>(block_count_));
  }

  void read() {
    for (size_t band = 0; band < bands_; ++band)
      window_.first.push_back(static_cast<int32_t>(first_block(use_.leaves ? band : 0)));
    window_.first.push_back(static_cast<int32_t>(use_.leaves ? block_count_ : 0));
    window_.before.assign(bands_, static_cast<int32_t>(block_count_));
    window_.after = window_.before;
  }

  /// The rows that a band writes, counted from the first kept row. The first band's rows begin at 0 and the
  /// last band's end at the last kept row. Rows kept for other ranks are thus allocated with their
  /// neighbours.
  Interval written_rows(size_t band) const {
    Interval rows = image(pass_.tiles.y[band], graph_.tensor(use_.tensor).scale.y, pass_.scale.y);
    if (!use_.rows) return rows;
    const Interval& kept = *use_.rows;
    if (band == 0) rows.begin = kept.begin;
    if (band + 1 == bands_) rows.end = kept.end;
    return {rows.begin - kept.begin, rows.end - kept.begin};
  }

  Interval blocks_read(size_t band) const {
    const Interval& tile = pass_.tiles.y[band];
    const int64_t first = first_kept_row(), begin = readers_.first_row(tile.begin);
    const int64_t end =
        ceil_divide(std::max<int64_t>(0, readers_.last_row(tile.end) - first), use_.block_rows);
    if (begin >= readers_.rows()) return {end, end};  // earlier bands have read everything
    return {std::max<int64_t>(0, begin - first) / use_.block_rows, end};
  }

  /// The first block that this band or a later pass needs. Blocks before it are freed.
  int64_t first_block(size_t band) const {
    if (band == 0) return 0;
    const int64_t row = readers_.first_row(pass_.tiles.y[band].begin);
    // If the last bands read no more rows of the tensor, its last block is freed too.
    return row >= readers_.rows() ? block_count_ : block_at(row);
  }

  int64_t first_kept_row() const { return use_.rows ? use_.rows->begin : 0; }
  /// The block that holds a row, at most the number of blocks.
  int64_t block_at(int64_t row) const {
    return std::min(block_count_, std::max<int64_t>(0, row - first_kept_row()) / use_.block_rows);
  }
  /// The first block that begins at this row or below it.
  int32_t block_from(int64_t row) const { return static_cast<int32_t>(ceil_divide(row, use_.block_rows)); }

  const Graph& graph_;
  const Pass& pass_;
  const TensorUse& use_;
  const RowReaders readers_;
  const size_t bands_;
  const int64_t block_count_;
  Window window_;
};

}  // namespace

Interval Window::completed(size_t band) const {
  return {first[band + 1], band + 2 < first.size() ? first[band + 2] : after[band]};
}

Interval Window::fetched_for(size_t band) const {
  if (fetched.empty()) return {};
  return {band == 0 ? first[0] : fetched[band - 1], fetched[band]};
}

Interval Window::given_back(size_t band) const {
  return {first[band], std::min(first[band + 1], after[band])};
}

int32_t store_step(const Pass& pass, TensorId tensor) {
  const auto store = std::find_if(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return acquires_blocks(step) && step.tensor == tensor;
  });
  return store == pass.steps.end() ? -1 : static_cast<int32_t>(store - pass.steps.begin());
}

Window window_of(const Graph& graph, const Pass& pass, const TensorUse& use, const Sizes& sizes) {
  return WindowBuilder(graph, pass, use, sizes).build();
}

std::vector<Window> windows_of(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes) {
  std::vector<Window> windows;
  for (const TensorUse& use : uses_in(plan, pass)) {
    Window window = window_of(graph, plan.passes[pass], use, sizes);
    if (!use.written || window.store_step >= 0) windows.push_back(std::move(window));
  }
  return windows;
}

}  // namespace headroom
