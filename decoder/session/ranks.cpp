#include "decoder/session/ranks.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/files/region_spool.h"
#include "decoder/plan/sizes.h"
#include "decoder/trace/trace_file.h"

namespace headroom {

namespace {

/// Connections, the model and the plan took 3 to 8 MiB for 2 to 16 ranks. LibTorch is loaded before.
constexpr int64_t kBeforeDecodeBytes = int64_t{256} << 20;
/// Allowance per byte of file. A half-precision latent takes twice its file, and as much again for the
/// agreement. Parsed JSON takes the most.
constexpr int64_t kOfFileBytes = 16;
/// Allowance for a trace. TraceBounds keeps traces smaller than this.
constexpr int64_t kTraceBytes = int64_t{128} << 20;

}  // namespace

ResidentLimit::ResidentLimit(int64_t begin_bytes, int64_t limit_bytes, std::string limit)
    : begin_bytes_(begin_bytes), limit_bytes_(limit_bytes), limit_(std::move(limit)) {}

ResidentLimit ResidentLimit::before_decode(int64_t file_bytes) {
  const int64_t bytes = kBeforeDecodeBytes + kOfFileBytes * file_bytes;
  return {resident_bytes(), bytes, "the " + format_limit(bytes) + " that it may take before it decodes"};
}

ResidentLimit ResidentLimit::of_decode(int64_t limit_bytes, bool traced, const ResidentLimit& before) {
  return {std::min(resident_bytes(), before.begin_bytes_ + before.limit_bytes_),
          limit_bytes + (traced ? kTraceBytes : 0),
          "the limit of " + format_limit(limit_bytes) +
              (traced ? " and " + format_limit(kTraceBytes) + " for its trace" : "")};
}

void ResidentLimit::check() {
  grown_bytes_ = std::max(grown_bytes_, resident_bytes() - begin_bytes_);
  if (grown_bytes_ <= limit_bytes_) return;
  throw LimitExceeded("the process has grown by " + format_bytes(grown_bytes_) + ", more than " + limit_ +
                      ". Other processes that reach its port may have sent data");
}

namespace {

/// Output rows are sent in pieces of about this size, to keep buffers outside the pool small.
constexpr int64_t kPieceBytes = int64_t{1} << 20;

/// Rows of one frame of one item that a rank sends to rank 0.
struct Piece {
  int32_t rank = 0;
  int64_t item = 0, frame = 0;
  Interval rows;
};

/// Calls f for all pieces in the order in which rank 0 collects them: frame by frame, top to bottom.
template <typename F>
void for_pieces(const Model& model, const Plans& plan, const PictureShape& shape, const F& f) {
  const int64_t row_bytes = shape.columns * shape.channels * static_cast<int64_t>(sizeof(float));
  const int64_t step = std::max<int64_t>(1, kPieceBytes / row_bytes);
  for (int64_t item = 0; item < shape.items; ++item) {
    for (int64_t frame = 0; frame < shape.frames; ++frame) {
      for (size_t rank = 1; rank < plan.plans.size(); ++rank) {
        const Interval rows = output_rows(model, plan.plans[rank]);
        for (int64_t row = rows.begin; row < rows.end; row += step)
          f(Piece{static_cast<int32_t>(rank), item, frame, {row, std::min(rows.end, row + step)}});
      }
    }
  }
}

/// Transfers the rows of all other ranks from their spools to rank 0's output.
void collect(const RankedDecode& ranks, PictureSink& output, const RegionSpool* spool) {
  const PictureShape shape = output.shape();
  Exchange& exchange = ranks.exchange;
  std::vector<float> pixels;
  for_pieces(ranks.model, ranks.plan, shape, [&](const Piece& piece) {
    if (exchange.rank() != 0 && exchange.rank() != piece.rank) return;
    pixels.resize(static_cast<size_t>(piece.rows.length() * shape.columns * shape.channels));
    const Span span{pixels.data(), static_cast<int64_t>(pixels.size() * sizeof(float))};
    if (exchange.rank() == 0) {
      exchange.wait(exchange.post({}, {{piece.rank, {span}}}).receives[0]);
      output.write(piece.item, {{piece.frame, piece.frame + 1}, piece.rows, {0, shape.columns}},
                   pixels.data());
    } else {
      spool->read(piece.item, piece.frame, piece.rows, pixels.data());
      exchange.wait(exchange.post({{0, {span}}}, {}).sends[0]);
    }
  });
}

/// Measurements of all ranks. All ranks must call this, and all receive the result.
std::vector<RankStats> gathered(const Plans& plan, const RunStats& own, int64_t sent_bytes,
                                Exchange& exchange) {
  const std::vector<std::vector<double>> all =
      exchange.gather({double(own.peak_bytes), double(own.pool_peak_bytes), own.seconds, double(sent_bytes)});
  std::vector<RankStats> ranks;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::vector<double>& of = all[rank];
    RankStats stats;
    stats.latent_rows = plan.plans[rank].share.latent_rows;
    stats.limit_bytes = plan.plans[rank].limit_bytes;
    stats.predicted_peak_bytes = plan.plans[rank].predicted_peak_bytes;
    stats.peak_bytes = static_cast<int64_t>(of[0]);
    stats.pool_peak_bytes = static_cast<int64_t>(of[1]);
    stats.seconds = of[2];
    stats.predicted_sent_bytes = plan.sent[rank].total();
    stats.sent_bytes = static_cast<int64_t>(of[3]);
    ranks.push_back(stats);
  }
  return ranks;
}

/// The output is complete once rank 0 has finished it. So rank 0 ignores ranks that fail after that.
void finish_together(PictureSink& output, Exchange& exchange) {
  const bool has_output = exchange.rank() == 0;
  if (has_output) output.finish();
  try {
    exchange.gather({1.0});
  } catch (const ExchangeError&) {
    if (!has_output) throw;
  }
}

}  // namespace

Interval output_rows(const Model& model, const Plan& plan) {
  const Graph& graph = model.graph;
  return own_rows(sizes_of(graph, plan), graph.tensor(graph.output()).scale.y);
}

RunStats decode(const RankedDecode& ranks, std::unique_ptr<Session> session, const Array& latent,
                PictureSink& output, EventSink& events) {
  const auto& [model, plan, exchange, folder] = ranks;
  const int64_t sent_before = exchange.sent_bytes();
  std::optional<RegionSpool> spool;
  if (exchange.rank() != 0)
    spool.emplace(output.shape(), output_rows(model, plan.plans[static_cast<size_t>(exchange.rank())]),
                  folder);
  const RankLink link{exchange, plan.transfers};
  RunStats stats =
      session->decode(0, latent, spool ? static_cast<PictureSink&>(*spool) : output, &events, &link);
  session.reset();
  collect(ranks, output, spool ? &*spool : nullptr);
  stats.ranks = gathered(plan, stats, exchange.sent_bytes() - sent_before, exchange);
  finish_together(output, exchange);
  return stats;
}

namespace {

/// Seconds to add to this rank's times so that all ranks leave one gather at the same time. 0 for the rank
/// whose clock began first.
double clock_offset(Exchange& exchange, const TraceRecorder& recorder) {
  exchange.gather({0});
  const double left = recorder.now();
  double latest = left;
  for (const std::vector<double>& of_rank : exchange.gather({left})) latest = std::max(latest, of_rank.at(0));
  return latest - left;
}

}  // namespace

void write_rank_traces(Exchange& exchange, const RecordedDecode& own, const std::filesystem::path& file) {
  const double offset = clock_offset(exchange, own.recorder);
  Trace trace = described(own.recorder.finish(), own.plan, own.stats);
  if (!trace.rank) trace.rank.emplace();  // it exchanged nothing
  trace.rank->rank = exchange.rank();
  trace.rank->ranks = exchange.size();
  trace.rank->latent_rows = own.plan.share.latent_rows;
  trace.rank->predicted_peak_bytes = own.plan.predicted_peak_bytes;
  trace.rank->clock_offset_seconds = offset;
  const std::vector<std::string> texts = gather_texts(exchange, trace_text(trace, own.plan, own.graph));
  if (exchange.rank() == 0) write_traces(file, texts);
}

/// A call that throws is not reported, since its error ends the decode.
template <typename Call>
auto WatchedExchange::watched(ExchangeCall kind, const Call& call) {
  const int64_t sent_before = exchange_.sent_bytes();
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  const std::chrono::duration<double> lasting = std::chrono::steady_clock::now() - start;
  const int64_t sent = exchange_.sent_bytes() - sent_before;
  count_sent(sent);
  events_.exchanged({kind, sent, lasting.count()});
  if (limit_ != nullptr) limit_->check();
  return result;
}

Exchange::Posted WatchedExchange::post(const std::vector<Message>& sends,
                                       const std::vector<Message>& receives) {
  return watched(ExchangeCall::post, [&] { return exchange_.post(sends, receives); });
}

void WatchedExchange::wait(Ticket ticket) {
  watched(ExchangeCall::wait, [&] {
    exchange_.wait(ticket);
    return 0;
  });
}

std::vector<std::vector<double>> WatchedExchange::gather(const std::vector<double>& own) {
  return watched(ExchangeCall::gather, [&] { return exchange_.gather(own); });
}

}  // namespace headroom
