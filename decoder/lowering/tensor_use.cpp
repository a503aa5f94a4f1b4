#include "decoder/lowering/tensor_use.h"

#include <algorithm>

#include "decoder/lowering/row_readers.h"

namespace headroom {

TensorUse use_of(const KeptTensor& kept) {
  return {.tensor = kept.tensor, .rows = kept.rows, .block_rows = kept.block_rows, .tier = kept.tier};
}

Interval kept_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return kept_rows(graph, use.tensor, use.rows, sizes);
}

int64_t first_row_of_lower_part(const Graph& graph, const Pass& lower, TensorId tensor, const Sizes& sizes) {
  return RowReaders(graph, lower, tensor, sizes).first_row(lower.tiles.y.front().begin);
}

int64_t first_row_below(const Graph& graph, TensorId tensor, int64_t latent_rows) {
  return std::max<int64_t>(0, latent_rows - kRowsAboveLine) * graph.tensor(tensor).scale.y;
}

namespace {

bool reads(const Pass& pass, TensorId tensor) {
  return std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return contains(step.inputs, Operand{tensor, -1});
  });
}

/// Rows above those that lower parts read, which go with the last pass that reads them.
struct UpperRows {
  int64_t end = 0;        ///< 0 where all rows stay as long as the tensor
  int32_t last_pass = 0;  ///< a whole pass, or an upper part
};

/// The lowest row of the latent above which a tensor is kept; 0 where all are kept whole.
int64_t lowest_line(const Graph& graph, const Plan& plan) {
  int64_t rows = 0;
  for (const KeptTensor& entry : plan.kept) {
    if (!plan.share.alone() || !entry.rows) continue;
    const int64_t above = entry.rows->end / graph.tensor(entry.tensor).scale.y;
    rows = rows == 0 ? above : std::min(rows, above);
  }
  return rows;
}

/// `line` is the plan's lowest_line().
UpperRows upper_rows(const Graph& graph, const Plan& plan, const KeptTensor& entry, const Sizes& sizes,
                     int64_t line) {
  UpperRows upper{entry.rows ? 0 : first_row_below(graph, entry.tensor, line), entry.first_pass};
  if (upper.end == 0 || entry.tier != MemoryTier::device) return {};
  const auto last_part = [&](int32_t pass) {
    return plan.passes[static_cast<size_t>(pass)].part == PassPart::upper ? pass + 1 : pass;
  };
  for (int32_t pass = entry.last_pass; pass > last_part(entry.first_pass); --pass) {
    const Pass& reader = plan.passes[static_cast<size_t>(pass)];
    if (!reads(reader, entry.tensor)) continue;
    if (reader.part != PassPart::lower) {
      upper.last_pass = pass;
      break;
    }
    if (first_row_of_lower_part(graph, reader, entry.tensor, sizes) < upper.end) return {};
  }
  const bool goes_first = last_part(upper.last_pass) < entry.last_pass;
  return goes_first && upper.last_pass > last_part(entry.first_pass) ? upper : UpperRows{};
}

}  // namespace

std::vector<TensorUse> uses_in(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes) {
  const auto number = static_cast<int32_t>(pass);
  const PassPart part = plan.passes[pass].part;
  const int64_t line = lowest_line(graph, plan);
  std::vector<TensorUse> list;
  for (const KeptTensor& entry : plan.kept) {
    if (number < entry.first_pass || number > entry.last_pass) continue;
    const bool taken_over = std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& other) {
      return other.in_place_of == entry.tensor;
    });
    TensorUse use = use_of(entry);
    use.written = number == entry.first_pass || (part == PassPart::lower && number - 1 == entry.first_pass);
    const bool leaves_below = part == PassPart::upper && number + 1 == entry.last_pass;
    use.leaves = (number == entry.last_pass || leaves_below) && !taken_over;
    const UpperRows upper = upper_rows(graph, plan, entry, sizes, line);
    if (upper.end > 0 && number > upper.last_pass) use.begin_row = upper.end;
    if (upper.end > 0 && number == upper.last_pass) {
      use.leaves = true;
      use.held_from = upper.end;
    } else if (leaves_below && use.leaves) {
      use.held_from = first_row_of_lower_part(graph, plan.passes[pass + 1], entry.tensor, sizes);
    } else if (part == PassPart::lower && use.leaves) {
      use.begin_row = first_row_of_lower_part(graph, plan.passes[pass], entry.tensor, sizes);
    }
    list.push_back(use);
  }
  return list;
}

}  // namespace headroom
