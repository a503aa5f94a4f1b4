#include "decoder/plan/ranked_plan_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/graph_names.h"
#include "decoder/plan/plan_file.h"

namespace headroom {
namespace {

using nlohmann::json;

/// JSON nesting depth, so that each step and each transfer is written on its own line.
constexpr int kDeepestExpandedRanks = 6, kDeepestExpandedTransfers = 0;

json rank_to_json(const Plan& plan, const RankTraffic& traffic, const Graph& graph) {
  const Interval& rows = plan.share.latent_rows;
  return {{"latent_rows", {rows.begin, rows.end}},
          {"sent",
           {{"rows_bytes", traffic.rows_bytes},
            {"statistics_bytes", traffic.statistics_bytes},
            {"output_bytes", traffic.output_bytes}}},
          {"plan", to_json(plan, graph)}};
}

json transfer_to_json(const RowTransfer& transfer, const Graph& graph) {
  return {{"pass", transfer.pass},
          {"tensor", graph.tensors().at(index(transfer.tensor)).name},
          {"from", transfer.from},
          {"to", transfer.to},
          {"rows", {transfer.rows.begin, transfer.rows.end}}};
}

RankTraffic traffic_from_json(const JsonFields& fields) {
  return {fields["rows_bytes"].integer(0, kMostBytes), fields["statistics_bytes"].integer(0, kMostBytes),
          fields["output_bytes"].integer(0, kMostBytes)};
}

/// Reads the plans of all ranks and the bytes that they send.
void read_ranks(const JsonFields& fields, const Graph& graph, RankedPlan& plan) {
  const size_t ranks = fields.size(kMostRanks);
  if (ranks == 0) fields.fail("expected at least one rank, found none");
  for (size_t rank = 0; rank < ranks; ++rank) {
    const JsonFields entry = fields[rank];
    const Interval rows = read_interval(entry["latent_rows"], kMostPixels);
    plan.traffic.push_back(traffic_from_json(entry["sent"]));
    Plan own = plan_from_json(entry["plan"], graph);
    own.share = {static_cast<int32_t>(rank), static_cast<int32_t>(ranks), rows};
    plan.plans.push_back(std::move(own));
  }
}

std::vector<RowTransfer> read_transfers(const JsonFields& fields, const Graph& graph,
                                        const RankedPlan& plan) {
  const GraphNames names(graph);
  std::vector<RowTransfer> transfers;
  const size_t count = fields.size(kMostTransfers);
  const auto last_rank = static_cast<int64_t>(plan.plans.size()) - 1;
  int64_t last_pass = 0;
  for (const Plan& own : plan.plans)
    last_pass = std::max(last_pass, static_cast<int64_t>(own.passes.size()) - 1);
  for (size_t i = 0; i < count; ++i) {
    const JsonFields entry = fields[i];
    RowTransfer transfer;
    transfer.pass = static_cast<int32_t>(entry["pass"].integer(0, last_pass));
    transfer.tensor = names.tensor(entry["tensor"]);
    transfer.from = static_cast<int32_t>(entry["from"].integer(0, last_rank));
    transfer.to = static_cast<int32_t>(entry["to"].integer(0, last_rank));
    transfer.rows = read_interval(entry["rows"], kMostPixels);
    transfers.push_back(transfer);
  }
  return transfers;
}

}  // namespace

bool has_ranks(const JsonFields& file) {
  return file.has("ranks");
}

json to_json(const RankedPlan& plan, const Graph& graph) {
  json ranks = json::array(), transfers = json::array();
  for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
    ranks.push_back(rank_to_json(plan.plans[rank], plan.traffic.at(rank), graph));
  }
  for (const RowTransfer& transfer : plan.transfers) transfers.push_back(transfer_to_json(transfer, graph));
  return {{"schema", "headroom.plan"},
          {"version", kRankedPlanVersion},
          {"request", to_json(plan.request)},
          {"link", {{"bytes_per_second", plan.link.bytes_per_second}, {"seconds", plan.link.seconds}}},
          {"predicted",
           {{"seconds", plan.predicted_seconds},
            {"peak_bytes", plan.peak_bytes()},
            {"sent_bytes", plan.sent_bytes()}}},
          {"ranks", std::move(ranks)},
          {"transfers", std::move(transfers)}};
}

RankedPlan ranked_plan_from_json(const JsonFields& file, const Graph& graph) {
  RankedPlan plan;
  plan.request = read_request(file);
  plan.link = {file["link"]["bytes_per_second"].amount(), file["link"]["seconds"].amount()};
  plan.predicted_seconds = file["predicted"]["seconds"].amount();
  read_ranks(file["ranks"], graph, plan);
  plan.transfers = read_transfers(file["transfers"], graph, plan);
  return plan;
}

void write_ranked_plan(const std::filesystem::path& file, const RankedPlan& plan, const Graph& graph) {
  json document = to_json(plan, graph);
  const json transfers = std::move(document["transfers"]);
  document.erase("transfers");
  std::string text = json_text(document, kDeepestExpandedRanks);
  text.erase(text.rfind("\n}"));
  text += ",\n \"transfers\": " + json_text(transfers, kDeepestExpandedTransfers) + "\n}\n";
  check_json(text, file.string() + ": too large a plan, take fewer ranks");
  write_file_whole(file, text);
}

}  // namespace headroom
