#include "reports/figures/ranks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "reports/figures/comparison.h"
#include "tests/reports/figures/rank_files.h"

namespace headroom::reports {
namespace {

using test::RankFiles;

/// The column of this title, and of this group.
size_t column_of(const Table& table, const std::string& group, const std::string& title) {
  for (size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].title == title && table.columns[column].group == group) return column;
  }
  throw std::runtime_error("no column " + title);
}

double value_of(const Table& table, size_t row, const std::string& group, const std::string& title) {
  return std::get<double>(table.rows.at(row).cells.at(column_of(table, group, title)));
}

TEST_CASE("ranks: plan, statistics and trace of one decode are one run, in whatever order they come") {
  const RankFiles files, other(3, 10, 5000), fewer(2);
  const DocumentPtr plan = files.read("plan.json"), stats = files.read("stats.json"),
                    trace = files.read("trace.json");
  const std::vector<SharedRun> one = shared_runs({trace, stats, plan});
  REQUIRE(one.size() == 1);
  CHECK((one[0].plan == plan && one[0].stats == stats && one[0].trace == trace));
  CHECK(one[0].shares.size() == 3);
  CHECK(one[0].predicted.size() == 3);
  CHECK(one[0].measured.size() == 3);
  CHECK(one[0].label() ==
        files.file("plan.json") + ", " + files.file("stats.json") + ", " + files.file("trace.json"));

  // A plan of the same rows with another limit, and one for fewer ranks: theirs go to them.
  const std::vector<SharedRun> three =
      shared_runs({plan, other.read("trace.json"), other.read("plan.json"), fewer.read("stats.json"), stats});
  REQUIRE(three.size() == 3);
  CHECK((three[0].plan == plan && three[0].stats == stats && three[0].trace == nullptr));
  CHECK((three[1].plan->file == other.file("plan.json") && three[1].trace->file == other.file("trace.json")));
  CHECK((three[2].plan == nullptr && three[2].stats->file == fewer.file("stats.json")));
  CHECK(three[2].shares.size() == 2);
  CHECK(three[2].predicted.empty());

  // Without a plan the trace goes to the statistics. A second trace has a run of its own.
  const std::vector<SharedRun> two = shared_runs({trace, stats, trace});
  REQUIRE(two.size() == 2);
  CHECK((two[0].stats == stats && two[0].trace == trace));
  CHECK((two[1].stats == nullptr && two[1].trace == trace));

  // Files of a single rank do not form a run of several ranks.
  RunStats alone = files.stats;
  alone.ranks.clear();
  CHECK(shared_runs({plan->ranks[0], trace->ranks[1], test::document_of(alone, "alone.json")}).empty());
}

TEST_CASE("ranks: the table has what the files say of each rank, and no column that they say nothing for") {
  const RankFiles files;
  const SharedRun run =
      shared_runs({files.read("plan.json"), files.read("stats.json"), files.read("trace.json")})[0];
  const Table table = ranks_table(run);
  REQUIRE(table.rows.size() == 3);
  CHECK(table.columns.size() == 12);
  for (size_t rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const Plan& plan = files.plan.plans[rank];
    const RankStats& stats = files.stats.ranks[rank];
    const double passes = double(plan.passes.size()), waited = files.waited_seconds(rank) * passes;
    CHECK(std::get<std::string>(table.rows[rank].cells[0]) == std::to_string(rank));
    CHECK(value_of(table, rank, "peak", "limit") == double(plan.limit_bytes));
    CHECK(value_of(table, rank, "peak", "predicted") == double(plan.predicted_peak_bytes));
    CHECK(value_of(table, rank, "peak", "measured") == double(stats.peak_bytes));
    CHECK(value_of(table, rank, "peak", "ratio") ==
          double(stats.peak_bytes) / double(plan.predicted_peak_bytes));
    CHECK(value_of(table, rank, "sent", "predicted") == double(files.plan.sent[rank].total()));
    CHECK(value_of(table, rank, "sent", "measured") == double(stats.sent_bytes));
    CHECK(value_of(table, rank, "waiting", "waited") == Approx(waited));
    CHECK(value_of(table, rank, "waiting", "share") == Approx(waited / passes));
    CHECK(value_of(table, rank, "time", "predicted") == plan.predicted_seconds);
    CHECK(value_of(table, rank, "time", "measured") == stats.seconds);
  }
  CHECK(std::get<std::string>(table.rows[1].cells[1]) == "4 to 7");
  const auto highest =
      std::max_element(files.stats.ranks.begin(), files.stats.ranks.end(),
                       [](const RankStats& a, const RankStats& b) { return a.peak_bytes < b.peak_bytes; });
  // Not the one that comes closest to its prediction, which is the last.
  REQUIRE(highest == files.stats.ranks.begin());
  for (size_t rank = 0; rank < 3; ++rank)
    CHECK(table.rows[rank].stands_out == (&files.stats.ranks[rank] == &*highest));

  // Each kind of file alone makes a table.
  const Table planned = ranks_table(shared_runs({files.read("plan.json")})[0]);
  CHECK(planned.columns.size() == 6);
  CHECK(std::count_if(planned.rows.begin(), planned.rows.end(),
                      [](const Row& row) { return row.stands_out; }) == 1);
  CHECK(ranks_table(shared_runs({files.read("stats.json")})[0]).columns.size() == 9);
  const Table traced = ranks_table(shared_runs({files.read("trace.json")})[0]);
  CHECK(traced.columns.size() == 10);
  CHECK(value_of(traced, 2, "peak", "measured") == 1002);
}

TEST_CASE("ranks: charts of all ranks are by one clock, with a strip for what they waited") {
  const RankFiles files;
  const SharedRun run = shared_runs({files.read("plan.json"), files.read("trace.json")})[0];
  const double passes = double(files.plan.plans[0].passes.size());
  const std::vector<Chart> measured = rank_charts(run, true, 16, 400);
  REQUIRE(measured.size() == 3);
  CHECK(measured[1].title == "Rank 1, rows 4 to 7, measured");
  for (size_t rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const double offset = 0.25 * double(rank);
    const Chart& chart = measured[rank];
    CHECK(chart.compact);
    CHECK(chart.spans.front().begin == Approx(offset));
    CHECK(chart.spans.back().end == Approx(offset + passes));
    // Nothing is there before the rank's own start.
    const Series& weights = chart.series.front();
    CHECK(weights.y.front() == (rank == 0 ? 1000.0 : 0.0));
    CHECK(weights.y.back() == 1000.0 + double(rank));
    REQUIRE(chart.strip);  // one legend stands for all
    CHECK(chart.strip->share.empty() == (rank == 0));
    if (rank == 0) continue;
    REQUIRE(chart.strip->x.size() == chart.strip->share.size() + 1);
    double waited = 0;
    for (size_t i = 0; i < chart.strip->share.size(); ++i) {
      const double left = chart.strip->x[i], right = chart.strip->x[i + 1];
      waited += chart.strip->share[i] * (right - left);
      if (right <= offset + 0.5) CHECK(chart.strip->share[i] == 0);
      if (left >= offset + 0.5 && right <= offset + 0.5 + files.waited_seconds(rank))
        CHECK(chart.strip->share[i] == Approx(1));
    }
    CHECK(waited == Approx(run.trace->ranks[rank]->as<RecordedTrace>()->trace.rank->waited_seconds));
  }
  CHECK(rank_charts(run, true, 2, 400).size() == 2);
  const std::vector<Chart> predicted = rank_charts(run, false, 16, 400);
  REQUIRE(predicted.size() == 3);
  CHECK(predicted[2].title == "Rank 2, rows 7 to 10, predicted");
  CHECK_FALSE(predicted[2].strip);
}

TEST_CASE("ranks: what is drawn of a plan reaches what it predicts, of ranks without rows as well") {
  const RankFiles files(5, 3);
  const DocumentPtr plan = files.read("plan.json");
  const SharedRun run = shared_runs({plan, files.read("stats.json"), files.read("trace.json")})[0];
  REQUIRE(run.trace != nullptr);
  REQUIRE(run.predicted.size() == 5);
  for (size_t rank = 0; rank < 5; ++rank) {
    CAPTURE(rank);
    const Timeline& timeline = *run.predicted[rank];
    const Plan& own = files.plan.plans[rank];
    CHECK(run.shares[rank].rows.length() == (rank < 3 ? 1 : 0));
    CHECK(timeline.total_bytes(timeline.peak()) == own.predicted_peak_bytes);
    CHECK(timeline.end_seconds() == Approx(own.predicted_seconds));
    CHECK(timeline.passes().size() == own.passes.size());
    for (size_t i = 0; i < timeline.size(); ++i) {
      const std::vector<LiveEntry> live = timeline.live_set(i);
      CHECK(std::accumulate(live.begin(), live.end(), int64_t{0}, [](int64_t sum, const LiveEntry& entry) {
              return sum + entry.bytes;
            }) == timeline.total_bytes(i));
    }
  }
  CHECK(std::get<std::string>(ranks_table(run).rows[4].cells[1]) == "none");
  CHECK(rank_charts(run, false, 16, 100)[4].title == "Rank 4, no rows, predicted");
  CHECK(rank_charts(run, true, 16, 100)[4].title == "Rank 4, no rows, measured");
}

TEST_CASE("ranks: the parts of a file are documents of their own") {
  const RankFiles files(2);
  const DocumentPtr plan = files.read("plan.json"), trace = files.read("trace.json");
  REQUIRE(plan->ranks.size() == 2);
  REQUIRE(trace->ranks.size() == 2);
  CHECK(files.read("stats.json")->ranks.empty());
  CHECK(plan->ranks[1]->as<PlanDocument>()->plan == files.plan.plans[1]);
  CHECK(trace->ranks[1]->as<RecordedTrace>()->trace.rank == files.traces[1].rank);
  CHECK(name_of(*trace->ranks[1]) == files.file("trace.json") + ", rank 1");
  CHECK(name_of(*trace) == files.file("trace.json"));
  CHECK(std::string(kind_of(*plan)) == "plan of ranks");
  CHECK(std::string(kind_of(*trace)) == "trace of ranks");
  CHECK_THAT(summary(*plan), Catch::StartsWith("2 ranks, ") && Catch::Contains("24x20 fp32"));
  CHECK_THAT(summary(*trace), Catch::StartsWith("2 ranks, ") && Catch::EndsWith("two cores"));
}

TEST_CASE("ranks: files of several ranks are compared rank by rank") {
  const RankFiles files(2), other(3);
  const std::vector<Table> plans = compare(*files.read("plan.json"), *other.read("plan.json"));
  REQUIRE_FALSE(plans.empty());
  CHECK(plans[0].rows.size() == 3);
  CHECK(std::get<std::string>(plans[0].rows[0].cells[0]) == "rank 2");  // only one has it
  const std::vector<Table> traces = compare(*files.read("trace.json"), *other.read("trace.json"));
  REQUIRE_FALSE(traces.empty());
  CHECK(traces[0].rows.size() == 1);  // the others are equal
  // Two ranks of one file are told apart by their numbers.
  const std::vector<DocumentPtr> ranks = other.read("plan.json")->ranks;
  const std::vector<Table> parts = compare(*ranks[0], *ranks[2]);
  REQUIRE_FALSE(parts.empty());
  CHECK(parts[0].columns[1].title == "plan.json, rank 0");
  CHECK(parts[0].columns[2].title == "plan.json, rank 2");
}

}  // namespace
}  // namespace headroom::reports
