#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "decoder/exchange/exchange.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"

namespace headroom {

/// Limits the growth of the whole process. Our pools cannot refuse memory that a library allocates for data
/// from other processes. A rank uses two limits: one until its decode begins, then one for the decode.
class ResidentLimit {
 public:
  /// Limit while the ranks connect and agree on the plan. `file_bytes` is the size of the files that the rank
  /// reads into memory.
  static ResidentLimit before_decode(int64_t file_bytes);
  /// Limit from now on. Memory beyond what `before` allows counts as growth. If `traced`, the trace's memory
  /// is allowed on top of the limit.
  static ResidentLimit of_decode(int64_t limit_bytes, bool traced, const ResidentLimit& before);

  /// Throws LimitExceeded if the process exceeds the limit now or did at an earlier check.
  void check();

 private:
  ResidentLimit(int64_t begin_bytes, int64_t limit_bytes, std::string limit);

  int64_t begin_bytes_, limit_bytes_;
  int64_t grown_bytes_ = 0;  ///< largest growth seen by check()
  std::string limit_;        ///< the limit's description in messages
};

// One of several ranks that decode together: its run, its exchange as the run watches it, and its trace.

/// Facts that all ranks of a decode share, and one rank's connection to the others.
struct RankedDecode {
  const Model& model;
  const Plans& plan;
  Exchange& exchange;
  std::filesystem::path spool_folder;  ///< holds output rows until rank 0 collects them
};

/// Decodes the rows of exchange.rank() in a session whose first plan is the rank's, and ends the session.
/// Rank 0 then collects the rows of the other ranks piece by piece and finishes `output`, so no rank holds
/// the whole picture. Other ranks leave `output` alone. Returns this rank's statistics, with those of all
/// ranks in RunStats::ranks. Throws ExchangeError if another rank fails. After any error the caller must call
/// exchange.abandon().
RunStats decode(const RankedDecode& ranks, std::unique_ptr<Session> session, const Array& latent,
                PictureSink& output, EventSink& events);

/// The rows of the output that a rank makes.
Interval output_rows(const Model& model, const Plan& plan);

// One trace of all ranks of a decode:
//
//     TraceRecorder recorder(nullptr, bounds_of_rank(exchange.size()));
//     WatchedExchange watched(exchange, events, nullptr);  events end at the recorder
//     ... decode with RankLink{watched, transfers} ...
//     write_rank_traces(exchange, {recorder, plan, graph, stats}, file);

/// Finishes the recording. Rank 0 writes one file for all ranks. All ranks must call this, with the exchange
/// that is not watched. All ranks leave one gather() at the same moment, which aligns their clocks. Throws
/// ExchangeError, DeviceError.
void write_rank_traces(Exchange& exchange, const RecordedDecode& own, const std::filesystem::path& file);

/// Wraps an exchange. Times and reports its calls, and checks the process's memory limit after each. The
/// wrapped objects must outlive this one.
class WatchedExchange final : public Exchange {
 public:
  /// `limit` may be null.
  WatchedExchange(Exchange& exchange, EventSink& events, ResidentLimit* limit)
      : exchange_(exchange), events_(events), limit_(limit) {}

  int32_t rank() const override { return exchange_.rank(); }
  int32_t size() const override { return exchange_.size(); }
  bool takes_device_memory() const override { return exchange_.takes_device_memory(); }
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override;
  void working() noexcept override { exchange_.working(); }
  void abandon(const char* why) noexcept override { exchange_.abandon(why); }
  void drop() noexcept override { exchange_.drop(); }

 private:
  template <typename Call>
  auto watched(ExchangeCall kind, const Call& call);

  Exchange& exchange_;
  EventSink& events_;
  ResidentLimit* limit_;
};

}  // namespace headroom
