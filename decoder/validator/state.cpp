#include <algorithm>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

/// Alignment of every array.
constexpr int64_t kStateBoundaryBytes = 256;
constexpr int64_t kDoubleBytes = 8, kStatisticBytes = 4;
/// Largest number of segments for the statistics of one frame, and of partial sums for keys and values. The
/// number of segments is for up to kCountedChannels channels. Twice as many channels halve it.
constexpr int64_t kMostSegments = 1584, kMostPartialSums = 32;
/// Channels that are counted together. A group with more channels is counted in several parts.
constexpr int64_t kCountedChannels = 128;
/// Parts of a frame that are merged together. A counter belongs to each such merge of a group, and one to the
/// merge of their results.
constexpr int64_t kMergedParts = 64, kCounterBytes = 4;

int64_t from_boundary(int64_t bytes) {
  return multiply((bytes - 1) / kStateBoundaryBytes + 1, kStateBoundaryBytes);
}

/// Number of sets of statistics: one, or one per frame of their input.
int64_t sets_of(const View& view, const Op& statistics) {
  return statistics.by_frame ? view.picture(statistics.inputs[0], kTime).end : 1;
}

/// Count, mean and squared differences of one group.
constexpr int64_t kMoments = 3;
int64_t moments(int64_t groups) {
  return multiply(groups, kMoments * kDoubleBytes);
}

/// The sums of a head, for each channel of k: k times each channel of v, and k alone.
struct Heads {
  int64_t channels = 0, of_all = 0, of_a_piece = 0;
  int64_t sums(int64_t heads) const { return multiply(heads, multiply(channels, channels + 1)); }
};

Heads heads_of(const View& view, const Op& op) {
  Heads heads;
  int64_t all = 0, most = 0;
  for (TensorId input : op.inputs) {
    all = add(all, view.graph.tensor(input).channels);
    most = std::max(most, view.graph.tensor(input).channels);
  }
  heads.of_all = std::max<int64_t>(1, op.groups);
  heads.channels = all / (3 * heads.of_all);
  heads.of_a_piece = heads.channels < 1 ? 0 : most / (3 * heads.channels);
  return heads;
}

}  // namespace

int64_t gathered_values(const View& view, const Op& op) {
  if (op.kind == OpKind::statistics) return multiply(multiply(sets_of(view, op), op.groups), kMoments);
  if (op.kind != OpKind::key_value_sums) return 0;
  const Heads heads = heads_of(view, op);
  return heads.sums(heads.of_all);
}

int64_t state_bytes(const View& view) {
  if (!view.on_cuda()) return 0;
  int64_t of_item = 0, gathered = 0, counters = 0;
  for (const Op& op : view.graph.ops()) {
    int64_t bytes = multiply(gathered_values(view, op), kDoubleBytes);
    if (op.kind == OpKind::statistics) {
      const int64_t channels = view.graph.tensor(op.inputs[0]).channels, of_group = channels / op.groups;
      const int64_t parts = multiply(op.groups, (of_group - 1) / kCountedChannels + 1);
      const int64_t segments = std::max<int64_t>(1, kMostSegments / ((channels - 1) / kCountedChannels + 1));
      gathered = std::max(gathered, multiply(segments, moments(parts)));
      const int64_t merges = (multiply(segments, parts / op.groups) - 1) / kMergedParts + 1;
      counters = std::max(counters, multiply(op.groups, (merges + 1) * kCounterBytes));
    } else if (op.kind == OpKind::norm) {
      const Op& statistics = view.graph.op(view.graph.tensor(op.inputs[1]).producer);
      const int64_t channels = multiply(sets_of(view, statistics), view.graph.tensor(op.output).channels);
      bytes = multiply(channels, 2 * kStatisticBytes);
    } else if (op.kind == OpKind::key_value_sums) {
      const Heads heads = heads_of(view, op);
      gathered = std::max(
          gathered, multiply(kMostPartialSums, multiply(heads.sums(heads.of_a_piece), kStatisticBytes)));
    }
    if (bytes > 0) of_item = add(of_item, from_boundary(bytes));
  }
  if (counters > 0) gathered = add(from_boundary(gathered), counters);
  return add(multiply(of_item, view.plan.micro_batch), gathered);
}

}  // namespace headroom::validation
