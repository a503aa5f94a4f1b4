#include "decoder/interpreter/rank_exchange.h"

#include <algorithm>
#include <utility>

#include "decoder/interpreter/merge_statistics.h"

namespace headroom {

RankExchange::RankExchange(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
                           const RankLink* link, ViewOf view_of)
    : graph_(graph), plan_(plan), sizes_(sizes), device_(device), link_(link), view_of_(std::move(view_of)) {}

RankExchange::~RankExchange() {
  // After an error rows may still be on their way, and their memory goes now.
  if (!pending_.empty()) link_->exchange.abandon("it stopped while rows were on their way");
}

void RankExchange::begin_pass(size_t pass) {
  pass_ = pass;
  if (pending_.empty()) return;
  readers_.clear();
  for (const Pending& pending : pending_) {
    for (const RowTransfer* transfer : pending.transfers)
      readers_.try_emplace(transfer->tensor, graph_, this->pass(), transfer->tensor, sizes_);
  }
  wait_for([&](const Pending&, const RowTransfer& transfer) {
    return std::any_of(plan_.materialised.begin(), plan_.materialised.end(), [&](const Materialised& entry) {
      return entry.in_place_of == transfer.tensor && entry.first_pass == static_cast<int32_t>(pass_);
    });
  });
}

void RankExchange::begin_band(size_t band) {
  const Interval& tile = pass().tiles.y[band];
  wait_for([&](const Pending& pending, const RowTransfer& transfer) {
    const RowReaders& readers = readers_.at(transfer.tensor);
    const Interval read{readers.first_row(tile.begin), readers.last_row(tile.end)};
    return pending.received && intersect(read, transfer.rows).length() > 0;
  });
}

void RankExchange::end_band(size_t band) {
  const std::vector<Interval>& bands = pass().tiles.y;
  if (band + 1 == bands.size()) return before_release();
  wait_for([&](const Pending& pending, const RowTransfer& transfer) {
    return !pending.received && leaves(transfer.tensor) &&
           transfer.rows.begin < readers_.at(transfer.tensor).first_row(bands[band + 1].begin);
  });
}

void RankExchange::before_release() {
  wait_for([&](const Pending&, const RowTransfer& transfer) { return leaves(transfer.tensor); });
}

bool RankExchange::leaves(TensorId tensor) const {
  return std::any_of(plan_.materialised.begin(), plan_.materialised.end(), [&](const Materialised& entry) {
    return entry.tensor == tensor && entry.last_pass == static_cast<int32_t>(pass_);
  });
}

void RankExchange::end_pass() {
  if (link_ == nullptr) return;
  // What is read first by those who get it goes first.
  for (const bool upwards : {false, true}) post(upwards);
}

void RankExchange::post(bool upwards) {
  std::vector<Message> sends, receives;
  std::vector<Pending> sent, received;
  for (const RowTransfer& transfer : link_->transfers) {
    const bool sending = transfer.from == plan_.share.rank;
    if (transfer.pass != static_cast<int32_t>(pass_) || (transfer.from > transfer.to) != upwards) continue;
    if (!sending && transfer.to != plan_.share.rank) continue;
    const int32_t peer = sending ? transfer.to : transfer.from;
    std::vector<Message>& messages = sending ? sends : receives;
    std::vector<Pending>& pending = sending ? sent : received;
    size_t at = 0;
    while (at < messages.size() && messages[at].peer != peer) ++at;
    if (at == messages.size()) {
      messages.push_back({peer, {}});
      pending.push_back({0, !sending, {}});
    }
    const std::vector<Span> spans = spans_of(transfer);
    messages[at].spans.insert(messages[at].spans.end(), spans.begin(), spans.end());
    pending[at].transfers.push_back(&transfer);
  }
  if (sends.empty() && receives.empty()) return;
  device_.finish_work();
  const Exchange::Posted posted = link_->exchange.post(sends, receives);
  for (size_t i = 0; i < sent.size(); ++i) sent[i].ticket = posted.sends[i];
  for (size_t i = 0; i < received.size(); ++i) received[i].ticket = posted.receives[i];
  pending_.insert(pending_.end(), received.begin(), received.end());
  pending_.insert(pending_.end(), sent.begin(), sent.end());
}

/// One for each row of each frame of each item: blocks of two ranks do not begin at the same rows.
std::vector<Span> RankExchange::spans_of(const RowTransfer& transfer) const {
  const MapView& view = view_of_(transfer.tensor);
  const int64_t bytes = view.region.x.length() * view.channels * bytes_per_element(view.dtype);
  std::vector<Span> spans;
  for (int64_t item = 0; item < sizes_.items; ++item) {
    for (int64_t t = view.region.t.begin; t < view.region.t.end; ++t) {
      for (int64_t y = transfer.rows.begin; y < transfer.rows.end; ++y)
        spans.push_back({view.place({item, t, y}, view.region.x.begin), bytes});
    }
  }
  return spans;
}

void RankExchange::wait_for(const std::function<bool(const Pending&, const RowTransfer&)>& needed) {
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    const bool any = std::any_of(pending->transfers.begin(), pending->transfers.end(),
                                 [&](const RowTransfer* transfer) { return needed(*pending, *transfer); });
    if (any) link_->exchange.wait(pending->ticket);
    pending = any ? pending_.erase(pending) : pending + 1;
  }
}

void RankExchange::merge_statistics() {
  if (link_ == nullptr) return;
  std::vector<double> own;
  for (const Step& step : pass().steps) {
    if (!takes_statistics(step.kind)) continue;
    const std::vector<double> values = device_.statistics_values(step.tensor);
    own.insert(own.end(), values.begin(), values.end());
  }
  if (own.empty()) return;
  const std::vector<std::vector<double>> all = link_->exchange.gather(own);
  size_t begin = 0;
  for (const Step& step : pass().steps) {
    if (!takes_statistics(step.kind)) continue;
    const size_t count = device_.statistics_values(step.tensor).size();
    std::vector<double> merged(all[0].begin() + begin, all[0].begin() + begin + count);
    for (size_t rank = 1; rank < all.size(); ++rank) {
      const std::vector<double> more(all[rank].begin() + begin, all[rank].begin() + begin + count);
      merged = step.kind == StepKind::statistics ? merged_moments(merged, more) : summed(merged, more);
    }
    device_.set_statistics_values(step.tensor, merged);
    begin += count;
  }
}

}  // namespace headroom
