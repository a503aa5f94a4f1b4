#include <algorithm>
#include <map>
#include <tuple>

#include "decoder/validator/group.h"

namespace headroom::validation {
namespace {

/// Follows rows from the rank that makes them to the ranks that read them.
class TransferCheck {
 public:
  explicit TransferCheck(GroupView& view) : view_(view) {}

  void run() {
    for (size_t i = 0; i < view_.plan.transfers.size() && !view_.findings.full(); ++i) {
      if (check_transfer(i) && check_order(i)) note_arrival(i);
    }
    for (auto& [where, arrivals] : arrivals_) check_once(where, arrivals);
    for (size_t rank = 0; rank < view_.ranks.size() && !view_.findings.full(); ++rank) check_reads(rank);
    for (const auto& [where, arrivals] : arrivals_) check_wanted(where, arrivals);
  }

 private:
  /// The receiving rank and the tensor.
  using Where = std::pair<size_t, TensorId>;
  struct Arrival {
    Interval rows;
    size_t transfer = 0;
  };

  bool refuse(Violation::Kind kind, size_t transfer, const std::string& what) {
    view_.findings.add(kind, "transfers[" + std::to_string(transfer) + "]", what);
    return false;
  }

  /// Checks the order of transfers: pass by pass, and in each pass transfers to later ranks first. Senders
  /// and receivers both use this order.
  bool check_order(size_t i) {
    if (i == 0) return true;
    const auto key = [&](size_t transfer) {
      const RowTransfer& t = view_.plan.transfers[transfer];
      return std::tuple(t.pass, t.from > t.to);
    };
    return key(i - 1) <= key(i) || refuse(Violation::deadlock, i,
                                          "transfers are ordered by pass, and within a pass to later ranks "
                                          "first: this belongs before transfers[" +
                                              std::to_string(i - 1) + "]");
  }

  bool check_transfer(size_t i) {
    const RowTransfer& transfer = view_.plan.transfers[i];
    const auto is_rank = [&](int32_t rank) {
      return rank >= 0 && static_cast<size_t>(rank) < view_.ranks.size();
    };
    if (!is_rank(transfer.from) || !is_rank(transfer.to) || transfer.from == transfer.to)
      return refuse(Violation::malformed, i, "expected two of the ranks");
    const View& sender = view_.ranks[static_cast<size_t>(transfer.from)];
    const View& receiver = view_.ranks[static_cast<size_t>(transfer.to)];
    if (!sender.is_tensor(transfer.tensor)) return refuse(Violation::malformed, i, "no such tensor");
    const KeptTensor* sent = sender.kept(transfer.tensor);
    const KeptTensor* received = receiver.kept(transfer.tensor);
    if (sent == nullptr || received == nullptr)
      return refuse(Violation::read_before_write, i,
                    sender.name(transfer.tensor) + " is not kept, so nothing has written it");
    return check_pass(i, *sent) && check_rows(i, sender, receiver, *received);
  }

  /// Checks that rows are sent right after the pass that writes them. Later, other rows may have overwritten
  /// them.
  bool check_pass(size_t i, const KeptTensor& entry) {
    const int32_t pass = view_.plan.transfers[i].pass;
    const std::string written =
        view_.ranks[0].name(entry.tensor) + " is written in passes[" + std::to_string(entry.first_pass) + "]";
    if (pass < entry.first_pass) return refuse(Violation::read_before_write, i, written);
    if (pass > entry.first_pass)
      return refuse(Violation::read_after_release, i, written + ", and its rows leave then");
    if (pass == entry.last_pass)
      return refuse(Violation::read_after_release, i, written + ", and released there, before rows leave");
    return true;
  }

  bool check_rows(size_t i, const View& sender, const View& receiver, const KeptTensor& received) {
    const RowTransfer& transfer = view_.plan.transfers[i];
    const Interval owned = sender.own_rows(view_.graph.tensor(transfer.tensor).scale.y);
    const Interval stored = receiver.kept_rows(received);
    const auto rank = [](int32_t number) { return "rank " + std::to_string(number); };
    if (transfer.rows.begin >= transfer.rows.end)
      return refuse(Violation::malformed, i, "expected some rows");
    if (!owned.contains(transfer.rows))
      return refuse(Violation::not_owned, i,
                    rank(transfer.from) + " owns " + to_text(owned) + " of " + sender.name(transfer.tensor) +
                        ", and sends " + to_text(transfer.rows));
    if (!stored.contains(transfer.rows))
      return refuse(Violation::not_owned, i,
                    rank(transfer.to) + " stores " + to_text(stored) + " of " + sender.name(transfer.tensor) +
                        ", and is sent " + to_text(transfer.rows));
    return true;
  }

  void note_arrival(size_t i) {
    const RowTransfer& transfer = view_.plan.transfers[i];
    arrivals_[{static_cast<size_t>(transfer.to), transfer.tensor}].push_back({transfer.rows, i});
  }

  /// Checks that no row arrives twice. Stores the rank's own and received rows in `there_`, merged into runs
  /// without gaps.
  void check_once(const Where& where, std::vector<Arrival>& arrivals) {
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
      return std::tie(a.rows.begin, a.transfer) < std::tie(b.rows.begin, b.transfer);
    });
    std::vector<Interval> all{own_rows(where)};
    const Arrival* furthest = nullptr;  // the earlier arrival with the largest end
    for (const Arrival& arrival : arrivals) {
      if (furthest != nullptr && arrival.rows.begin < furthest->rows.end) {
        refuse(Violation::computed_twice, std::max(arrival.transfer, furthest->transfer),
               to_text(intersect(arrival.rows, furthest->rows)) + " of " + view_.ranks[0].name(where.second) +
                   " come to rank " + std::to_string(where.first) + " twice");
      }
      if (furthest == nullptr || arrival.rows.end > furthest->rows.end) furthest = &arrival;
      all.push_back(arrival.rows);
    }
    std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    std::vector<Interval>& runs = there_[where];
    for (const Interval& rows : all) {
      if (!runs.empty() && rows.begin <= runs.back().end) {
        runs.back().end = std::max(runs.back().end, rows.end);
      } else {
        runs.push_back(rows);
      }
    }
  }

  Interval own_rows(const Where& where) const {
    return view_.ranks[where.first].own_rows(view_.graph.tensor(where.second).scale.y);
  }

  /// The first of these rows that the rank neither owns nor has received. Returns rows.end if there is none.
  int64_t first_missing(const Where& where, const Interval& rows) const {
    if (rows.length() == 0) return rows.end;
    const auto found = there_.find(where);
    const std::vector<Interval> own{own_rows(where)};
    const std::vector<Interval>& runs = found == there_.end() ? own : found->second;
    const auto behind = std::upper_bound(runs.begin(), runs.end(), rows.begin,
                                         [](int64_t row, const Interval& run) { return row < run.begin; });
    if (behind == runs.begin()) return rows.begin;
    return std::clamp(std::prev(behind)->end, rows.begin, rows.end);
  }

  void check_reads(size_t rank) {
    const Plan& plan = view_.plan.plans[rank];
    for (size_t p = 0; p < plan.passes.size(); ++p) {
      for (size_t s = 0; s < plan.passes[p].steps.size(); ++s) {
        const Step& step = plan.passes[p].steps[s];
        for (size_t i = 0; i < step.inputs.size() && !view_.findings.full(); ++i) {
          const Operand& operand = step.inputs[i];
          const bool kept = operand.step == -1 && operand.tensor != view_.graph.input() &&
                            !view_.graph.tensor(operand.tensor).statistics;
          if (kept) check_read(rank, {p, s}, i);
        }
      }
    }
  }

  /// All that has been sent of a tensor comes after the pass that writes it, and in that pass a rank reads
  /// its own rows only.
  void check_read(size_t rank, const StepRef& ref, size_t input) {
    View& own = view_.ranks[rank];
    const TensorId tensor = own.step(ref).inputs[input].tensor;
    const Interval all = own.picture(tensor, kRows);
    const size_t bands = own.tile_count(ref.pass, kRows);
    if (!own.spend(static_cast<int64_t>(bands))) {
      view_.findings.add(Violation::malformed, GroupView::place(rank, "passes"),
                         "more tiles and steps than any real plan has");
      return;
    }
    for (size_t y = 0; y < bands; ++y) {
      const Interval needed = intersect(own.needed(ref, input, kRows, y), all);
      note_read({rank, tensor}, needed, own.step(ref).kind == OpKind::interpolate ? 1 : 0);
      const int64_t missing = first_missing({rank, tensor}, needed);
      if (missing >= needed.end) continue;
      return view_.findings.add(Violation::missing_transfer, GroupView::place(rank, own.place(ref)),
                                "tile " + std::to_string(y) + " along y reads " + to_text(needed) + " of " +
                                    own.name(tensor) + ", and row " + std::to_string(missing) +
                                    " comes from no rank");
    }
  }

  /// Records the rows that a step waits for. An interpolation waits for rows on both sides of its own,
  /// although at the border it may need only one side.
  void note_read(const Where& where, const Interval& rows, int64_t beside) {
    if (rows.length() == 0) return;
    const Interval read{rows.begin - beside, rows.end + beside};
    const auto [entry, is_new] = read_.try_emplace(where, read);
    if (!is_new)
      entry->second = {std::min(entry->second.begin, read.begin), std::max(entry->second.end, read.end)};
  }

  /// Checks that a rank reads all rows that it receives. A rank waits for rows only when it reads them.
  /// Unread rows could arrive after their blocks have been reused.
  void check_wanted(const Where& where, const std::vector<Arrival>& arrivals) {
    const auto read = read_.find(where);
    for (const Arrival& arrival : arrivals) {
      if (read == read_.end() || intersect(read->second, arrival.rows).length() == 0)
        refuse(Violation::malformed, arrival.transfer,
               "rank " + std::to_string(where.first) + " reads none of these rows");
    }
  }

  GroupView& view_;
  std::map<Where, std::vector<Arrival>> arrivals_;
  std::map<Where, Interval> read_;                ///< rows from the first one read to the last
  std::map<Where, std::vector<Interval>> there_;  ///< runs of rows in order, with gaps between them
};

}  // namespace

void check_transfers(GroupView& view) {
  TransferCheck(view).run();
}

}  // namespace headroom::validation
