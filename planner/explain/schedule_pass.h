#pragma once

#include <string>
#include <vector>

#include "planner/explain/schedule.h"
#include "planner/explain/schedule_bands.h"
#include "planner/explain/schedule_text.h"

namespace headroom::planner {

/// The part of a schedule that is about one pass. Plan, graph and model must outlive it.
class PassSchedule {
 public:
  PassSchedule(const Plan& plan, const Graph& graph, size_t number, const MemoryModel& memory);

  std::string text(const RoundedAmounts& amounts, const std::vector<AwaitedRows>& awaited,
                   const ScheduleOptions& options) const;

 private:
  std::string name(TensorId tensor) const;
  std::string rows(const RowTransfer& transfer) const;
  std::string kernels() const;
  const char* weights_name() const;

  std::string begin(const RoundedAmounts& amounts) const;
  std::string tiles() const;
  std::string steps(const RoundedAmounts& amounts) const;
  std::string bands(const std::vector<BandRun>& runs, const RoundedAmounts& amounts,
                    const ScheduleOptions& options) const;
  std::string end(const ScheduleOptions& options) const;

  size_t full_band() const;
  std::string made_by(size_t step, const RoundedAmounts& amounts) const;
  std::string given_back_after(size_t step) const;
  std::string band_line(const BandRun& run, const RoundedAmounts& amounts) const;
  std::string events(const BandRun& run) const;

  const Plan& plan_;
  const Graph& graph_;
  const size_t number_;
  const Pass& pass_;
  const PassSweep sweep_;
  ExtraWorkspace extra_;
};

}  // namespace headroom::planner
