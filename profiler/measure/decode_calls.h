#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decoder/interpreter/events.h"
#include "decoder/plan/sizes.h"
#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// Calls of one latency table at one extent, in one decode.
struct DecodeCalls {
  std::string table;
  int64_t rows = 0, columns = 0;
  double calls = 0;
  double seconds = 0;  ///< total of all calls
  friend bool operator==(const DecodeCalls&, const DecodeCalls&) = default;
};

/// Adds up step times of CPU decodes by latency table and extent, and forwards all events.
class DecodeCallRecorder final : public ForwardingEvents {
 public:
  DecodeCallRecorder(const Graph& graph, const Sizes& sizes, EventSink* next)
      : ForwardingEvents(next), graph_(graph), sizes_(sizes) {}
  void step_done(const Plan& plan, const StepDone& done) override;
  std::vector<DecodeCalls> calls() const;

 private:
  const Graph& graph_;
  Sizes sizes_;
  std::map<std::tuple<std::string, int64_t, int64_t>, std::pair<double, double>> calls_;
};

/// Cuts every pass of an untiled plan into tiles of about 1/8 of its rows × 1/4 of its columns.
Plan tiled_for_calls(const Graph& graph, Plan untiled);

/// Calibrates latency tables: scales each by measured over predicted time of its calls in decodes. Tables
/// time calls back to back, which find warm caches; calls inside a decode do not. Each table gets one ratio
/// per decode, at the typical extent of its calls. Between two decodes the ratio is linear in the logarithm
/// of positions. Outside them the nearest ratio applies. If a table has a small share of a decode, its ratio
/// is drawn towards that of the whole decode. Tables without calls in any decode do not change. Returns the
/// ratio of the whole last decode.
double calibrate_with_decodes(std::vector<LatencyTable>& tables,
                              const std::vector<std::vector<DecodeCalls>>& decodes);

}  // namespace headroom::profiler
