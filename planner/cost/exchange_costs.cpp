#include "planner/cost/exchange_costs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "decoder/schedule/lowering.h"
#include "decoder/schedule/transfers.h"

namespace headroom::planner {

double message_seconds(double bytes, const Link& link) {
  return bytes > 0 ? link.seconds + bytes / link.bytes_per_second : 0;
}

double gather_seconds(int64_t values, const Ranks& ranks) {
  return double(ranks.count - 1) * message_seconds(double(values) * sizeof(double), ranks.link);
}

namespace {

/// All rows that a pass of one rank wrote for another one.
struct RowMessage {
  std::vector<const RowTransfer*> transfers;
  int32_t from = 0, to = 0;
  double bytes = 0, arrives = 0;
};

/// One micro-batch, in seconds since its first pass began.
class ExchangeTimeline {
 public:
  ExchangeTimeline(const Graph& graph, const Plans& plan)
      : graph_(graph),
        plan_(plan),
        micro_batches_(double(plan.request.batch) / double(plan.plans[0].micro_batch)),
        messages_(messages_of_passes()),
        awaited_(plan.plans.size()),
        now_(plan.plans.size(), 0),
        sends_until_(plan.plans.size(), 0) {}

  double run() {
    for (size_t pass = 0; pass < plan_.plans[0].passes.size(); ++pass) {
      for (size_t rank = 0; rank < now_.size(); ++rank) compute(rank, pass);
      gather(pass);
      for (RowMessage& message : messages_[pass]) send(message);
    }
    double output_bytes = 0;
    for (const SentBytes& traffic : plan_.sent) output_bytes += double(traffic.output_bytes) / micro_batches_;
    return *std::max_element(now_.begin(), now_.end()) + message_seconds(output_bytes, plan_.link);
  }
  double micro_batches() const { return micro_batches_; }

 private:
  /// In the order in which they are sent.
  std::vector<std::vector<RowMessage>> messages_of_passes() const {
    std::vector<std::vector<RowMessage>> messages(plan_.plans[0].passes.size());
    std::map<std::tuple<int32_t, int32_t, int32_t>, size_t> known;
    for (const RowTransfer& transfer : plan_.transfers) {
      std::vector<RowMessage>& of_pass = messages[static_cast<size_t>(transfer.pass)];
      const auto [at, is_new] =
          known.try_emplace({transfer.pass, transfer.from, transfer.to}, of_pass.size());
      if (is_new) of_pass.push_back({{}, transfer.from, transfer.to});
      RowMessage& message = of_pass[at->second];
      const Sizes sizes = sizes_of(graph_, plan_.plans[static_cast<size_t>(transfer.from)]);
      message.transfers.push_back(&transfer);
      message.bytes +=
          double(transfer.rows.length() * row_bytes(graph_, transfer.tensor, sizes) * sizes.items);
    }
    return messages;
  }

  void compute(size_t rank, size_t number) {
    const Plan& plan = plan_.plans[rank];
    const Pass& pass = plan.passes[number];
    const size_t bands = pass.tiles.y.size();
    const double begin = now_[rank], seconds = pass.predicted_seconds / micro_batches_;
    now_[rank] += seconds;
    // In the order in which bands wait: a wait moves all bands after it.
    std::vector<std::pair<size_t, double>> waits;
    std::erase_if(awaited_[rank], [&](const RowMessage* message) {
      const size_t band = first_band_of(graph_, plan, number, message->transfers);
      if (band < bands) waits.push_back({band, message->arrives});
      return band < bands;  // the rows have arrived once this pass has run
    });
    std::sort(waits.begin(), waits.end());
    double delay = 0;
    for (const auto& [band, arrives] : waits)
      delay = std::max(delay, arrives - begin - seconds * double(band) / double(bands));
    now_[rank] += delay;
  }

  void gather(size_t pass) {
    const Plan& first = plan_.plans[0];
    const int64_t values = statistics_values(graph_, first.passes[pass], sizes_of(graph_, first));
    if (values == 0) return;
    const double all = *std::max_element(now_.begin(), now_.end()) +
                       gather_seconds(values, {static_cast<int32_t>(now_.size()), plan_.link});
    std::fill(now_.begin(), now_.end(), all);
  }

  void send(RowMessage& message) {
    double& until = sends_until_[static_cast<size_t>(message.from)];
    until = std::max(until, now_[static_cast<size_t>(message.from)]) +
            message.bytes / plan_.link.bytes_per_second;
    message.arrives = until + plan_.link.seconds;
    awaited_[static_cast<size_t>(message.to)].push_back(&message);
  }

  const Graph& graph_;
  const Plans& plan_;
  const double micro_batches_;
  std::vector<std::vector<RowMessage>> messages_;  ///< by the pass that writes the rows
  /// By receiving rank: messages that were sent but not read yet.
  std::vector<std::vector<const RowMessage*>> awaited_;
  std::vector<double> now_;          ///< by rank: end of its last pass so far
  std::vector<double> sends_until_;  ///< by rank
};

}  // namespace

double exchanged_seconds(const Graph& graph, const Plans& plan) {
  ExchangeTimeline timeline(graph, plan);
  return timeline.run() * timeline.micro_batches();
}

}  // namespace headroom::planner
