#include "decoder/interpreter/rank_exchange.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "decoder/base/moments.h"
#include "decoder/interpreter/pixels.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/transfers.h"

namespace headroom {
namespace {

/// Merges triples of count, mean and squared differences (decoder/base/moments.h). Every rank merges in rank
/// order, so the result is identical on all ranks and does not depend on timing.
std::vector<double> merged_moments(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values(a.size());
  for (size_t i = 0; i + 2 < a.size(); i += 3) {
    const Moments of_both = merged(Moments{a[i], a[i + 1], a[i + 2]}, Moments{b[i], b[i + 1], b[i + 2]});
    values[i] = of_both.count;
    values[i + 1] = of_both.mean;
    values[i + 2] = of_both.m2;
  }
  return values;
}

std::vector<double> summed(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values(a.size());
  std::transform(a.begin(), a.end(), b.begin(), values.begin(), std::plus<>());
  return values;
}

}  // namespace

RankExchange::RankExchange(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
                           const RankLink* link, ViewOf view_of)
    : graph_(graph),
      plan_(plan),
      sizes_(sizes),
      device_(device),
      link_(link),
      copies_(link == nullptr || link->exchange.takes_device_memory() ? nullptr : device.host_copies()),
      view_of_(std::move(view_of)) {}

RankExchange::~RankExchange() {
  // After an error transfers may still be running, and their memory is about to be freed.
  if (!pending_.empty()) link_->exchange.drop();
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
    return is_taken_over(plan_, transfer.tensor, pass_);
  });
}

void RankExchange::begin_band(size_t band) {
  wait_for([&](const Pending& pending, const RowTransfer& transfer) {
    return pending.received && readers_.at(transfer.tensor).first_band(pass(), transfer.rows) <= band;
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
  return std::any_of(plan_.kept.begin(), plan_.kept.end(), [&](const KeptTensor& entry) {
    return entry.tensor == tensor && entry.last_pass == static_cast<int32_t>(pass_);
  });
}

void RankExchange::end_pass() {
  if (link_ == nullptr) return;
  // Rows for the next rank go first: its first band reads them. The previous rank reads its rows last.
  for (const bool upwards : {false, true}) post(upwards);
}

void RankExchange::post(bool upwards) {
  std::map<int32_t, Pending> sent, received;  // by peer
  for (const RowTransfer& transfer : link_->transfers) {
    const bool sending = transfer.from == plan_.share.rank;
    if (transfer.pass != static_cast<int32_t>(pass_) || (transfer.from > transfer.to) != upwards) continue;
    if (!sending && transfer.to != plan_.share.rank) continue;
    Pending& pending = sending ? sent[transfer.to] : received[transfer.from];
    pending.received = !sending;
    pending.transfers.push_back(&transfer);
    const std::vector<Span> spans = spans_of(transfer);
    pending.rows.insert(pending.rows.end(), spans.begin(), spans.end());
  }
  if (sent.empty() && received.empty()) return;
  if (copies_ == nullptr) device_.finish_work();
  std::vector<Message> sends, receives;
  for (auto& [peer, pending] : sent) sends.push_back(message_to(peer, pending));
  for (auto& [peer, pending] : received) receives.push_back(message_to(peer, pending));
  Exchange::Posted posted;
  try {
    posted = link_->exchange.post(sends, receives);
  } catch (...) {
    link_->exchange.drop();  // some transfers may have started
    throw;
  }
  const auto add = [&](std::map<int32_t, Pending>& by_peer, const std::vector<Exchange::Ticket>& tickets) {
    auto ticket = tickets.begin();
    for (auto& [peer, pending] : by_peer) {
      pending.ticket = *ticket++;
      pending_.push_back(std::move(pending));
    }
  };
  add(received, posted.receives);
  add(sent, posted.sends);
}

/// Rows staged in host memory are contiguous there.
Message RankExchange::message_to(int32_t peer, Pending& pending) {
  if (copies_ == nullptr) return {peer, pending.rows, device_.host_copies() != nullptr};
  const int64_t bytes = bytes_of({peer, pending.rows});
  pending.staged.resize(static_cast<size_t>(bytes));
  if (!pending.received) copies_->to_host(pending.rows, pending.staged.data());
  return {peer, {{pending.staged.data(), bytes}}};
}

void RankExchange::wait(Pending& pending) {
  link_->exchange.wait(pending.ticket);
  if (copies_ != nullptr && pending.received) copies_->to_device(pending.staged.data(), pending.rows);
}

/// One span per row, frame and item, because the ranks' blocks begin at different rows.
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
    if (any) wait(*pending);
    pending = any ? pending_.erase(pending) : pending + 1;
  }
}

void RankExchange::merge_statistics() {
  if (link_ == nullptr) return;
  std::vector<const Step*> steps;
  std::vector<TensorId> tensors;
  for (const Step& step : pass().steps) {
    if (!takes_statistics(step.kind)) continue;
    steps.push_back(&step);
    tensors.push_back(step.tensor);
  }
  if (steps.empty()) return;
  const std::vector<std::vector<double>> all = link_->exchange.gather(device_.statistics().values(tensors));
  std::vector<double> values;
  for (const Step* step : steps) {
    const auto begin = static_cast<std::ptrdiff_t>(values.size()),
               end = begin + static_cast<std::ptrdiff_t>(statistics_values(graph_, *step, sizes_));
    const auto of_rank = [&](size_t rank) {
      return std::vector<double>(all[rank].begin() + begin, all[rank].begin() + end);
    };
    std::vector<double> merged = of_rank(0);
    for (size_t rank = 1; rank < all.size(); ++rank)
      merged = step->kind == OpKind::statistics ? merged_moments(merged, of_rank(rank))
                                                : summed(merged, of_rank(rank));
    // Check here, so that all ranks stop now with the same message.
    if (!std::all_of(merged.begin(), merged.end(), [](double value) { return std::isfinite(value); }))
      stop_not_finite(graph_.tensor(step->inputs[0].tensor).name);
    values.insert(values.end(), merged.begin(), merged.end());
  }
  device_.statistics().set_values(tensors, values);
}

}  // namespace headroom
