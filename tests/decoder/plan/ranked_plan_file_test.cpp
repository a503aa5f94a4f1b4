#include "decoder/plan/plan_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "decoder/plan/file_limits.h"
#include "tests/decoder/plan/refused_plan.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using nlohmann::json;
using testing::small_graph;
using testing::small_plan;

/// Two ranks that share the rows of small_plan(), each with a row of the other's. As data, not as a sound
/// plan.
Plans small_ranked_plan(const Graph& graph) {
  Plans ranked;
  ranked.request = small_plan(graph).request;
  ranked.link = {1.25e9, 1e-4};
  ranked.predicted_seconds = 0.1 + 0.2;
  const Interval shares[] = {{0, 5}, {5, 8}}, stored[] = {{0, 6}, {4, 8}};
  for (int32_t rank = 0; rank < 2; ++rank) {
    Plan plan = small_plan(graph);
    plan.share = {rank, 2, shares[rank]};
    plan.limit_bytes += rank;
    plan.predicted_peak_bytes += rank;
    plan.kept[0].rows = stored[rank];
    ranked.plans.push_back(plan);
  }
  const TensorId start = graph.find_tensor("conv_in");
  ranked.transfers = {{0, start, 0, 1, {4, 5}}, {0, start, 1, 0, {5, 6}}};
  ranked.sent = {{100, 48, 0}, {100, 48, 777}};
  return ranked;
}

Plans read_ranked(const json& document, const Graph& graph) {
  return plans_from_json(JsonFields(document, "plan.json"), graph);
}

void refuses_ranked(const json& document, const Graph& graph, const std::string& start) {
  testing::require_refused([&] { read_ranked(document, graph); }, start);
}

TEST_CASE("ranked plan file: a plan comes back as it was", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const Plans plan = small_ranked_plan(graph);
  CHECK(read_ranked(to_json(plan, graph), graph) == plan);

  const testing::PlanPath file;
  write_plans(file.path, plan, graph);
  const PlanFile written(file.path);
  CHECK(written.has_ranks());
  CHECK(written.request() == plan.request);
  CHECK(written.plans(graph) == plan);

  Plans quiet = plan;
  quiet.transfers.clear();
  write_plans(file.path, quiet, graph);
  CHECK(PlanFile(file.path).plans(graph) == quiet);

  // One rank has nothing to share, and rows of all.
  Plans one = plan;
  one.transfers.clear();
  one.plans = {small_plan(graph)};
  one.plans[0].share = {0, 1, {0, 8}};
  one.sent = {{}};
  CHECK(read_ranked(to_json(one, graph), graph) == one);

  // A list of one outside a group is the plan itself.
  const Plan single = small_plan(graph);
  CHECK(to_json(alone(single), graph) == to_json(single, graph));
  CHECK(read_ranked(to_json(single, graph), graph) == alone(single));
  write_plans(file.path, alone(single), graph);
  CHECK(read_plan(file.path, graph) == single);
}

TEST_CASE("ranked plan file: the keys that others read", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json document = to_json(small_ranked_plan(graph), graph);
  CHECK(document["schema"] == "headroom.plan");
  CHECK(document["version"] == 6);
  CHECK(document["request"]["height_pixels"] == 16);
  CHECK(document["link"] == json({{"bytes_per_second", 1.25e9}, {"seconds", 1e-4}}));
  CHECK(document["predicted"] ==
        json({{"seconds", 0.1 + 0.2}, {"peak_bytes", 26'001}, {"sent_bytes", 200 + 96 + 777}}));
  CHECK(document["ranks"][1]["latent_rows"] == json({5, 8}));
  CHECK(document["ranks"][1]["sent"] ==
        json({{"rows_bytes", 100}, {"statistics_bytes", 48}, {"output_bytes", 777}}));
  CHECK(document["ranks"][1]["plan"]["version"] == 4);
  CHECK(document["ranks"][1]["plan"]["kept"][0]["rows"] == json({4, 8}));
  CHECK_FALSE(document["ranks"][1]["plan"]["kept"][1].contains("rows"));
  CHECK(document["transfers"][1] ==
        json({{"pass", 0}, {"tensor", "conv_in"}, {"from", 1}, {"to", 0}, {"rows", {5, 6}}}));
}

TEST_CASE("ranked plan file: a reader of one plan refuses several in one line, and a list may be of one",
          "[unit][plan_file]") {
  const Graph graph = small_graph();
  json document = to_json(small_ranked_plan(graph), graph);
  const auto message_of = [&](auto read_as) -> std::string {
    try {
      read_as(JsonFields(document, "plan.json"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto one_decode = [&](const JsonFields& file) { plan_from_json(file, graph); };
  CHECK_THAT(
      message_of(one_decode),
      Catch::StartsWith("plan.json: ranks: expected a plan of one decode, found plans of several ranks"));
  const testing::PlanPath file;
  write_plans(file.path, small_ranked_plan(graph), graph);
  CHECK_THROWS_AS(read_plan(file.path, graph), InputError);

  write_plan(file.path, small_plan(graph), graph);
  CHECK_FALSE(PlanFile(file.path).has_ranks());
  CHECK(PlanFile(file.path).plans(graph) == alone(small_plan(graph)));

  document["version"] = 7;
  refuses_ranked(document, graph, "version: written by a newer Headroom: version 7");
}

TEST_CASE("ranked plan file: wrong values are refused by their path", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json sound = to_json(small_ranked_plan(graph), graph);
  const auto refuses_at = [&](const std::string& pointer, const json& value, const std::string& start) {
    json document = sound;
    document[json::json_pointer(pointer)] = value;
    INFO(pointer);
    refuses_ranked(document, graph, start);
  };
  refuses_at("/link/bytes_per_second", -1, "link.bytes_per_second: expected a number of at least 0");
  refuses_at("/link/seconds", "soon", "link.seconds: expected a number");
  refuses_at("/link", json::array(), "link: expected an object");
  refuses_at("/predicted/seconds", nullptr, "predicted.seconds: expected a number");
  refuses_at("/request/height_pixels", 0, "request.height_pixels: expected an integer");
  refuses_at("/ranks", json::array(), "ranks: expected at least one rank, found none");
  refuses_at("/ranks", 2, "ranks: expected an array");
  refuses_at("/ranks", json::array_t(kMostRanks + 1), "ranks: expected at most 1024");
  refuses_at("/ranks/1/latent_rows", json({5}), "ranks[1].latent_rows: expected [begin, end]");
  refuses_at("/ranks/1/latent_rows/0", -5, "ranks[1].latent_rows[0]: expected an integer");
  refuses_at("/ranks/0/latent_rows/1", 1LL << 40, "ranks[0].latent_rows[1]: expected an integer");
  refuses_at("/ranks/0/sent", 3, "ranks[0].sent: expected an object");
  for (const char* key : {"rows_bytes", "statistics_bytes", "output_bytes"}) {
    refuses_at(std::string("/ranks/1/sent/") + key, INT64_MAX,
               "ranks[1].sent." + std::string(key) + ": expected an integer");
  }
  refuses_at("/ranks/1/plan", 7, "ranks[1].plan: expected an object");
  refuses_at("/ranks/1/plan/kept/0/rows", json({1, 2, 3}), "ranks[1].plan.kept[0].rows: expected at most 2");
  refuses_at("/ranks/1/plan/kept/0/rows/1", 0.5, "ranks[1].plan.kept[0].rows[1]: expected an integer");
  refuses_at("/ranks/1/plan", sound, "ranks[1].plan.ranks: expected a plan of one decode");
  refuses_at("/transfers", json::object(), "transfers: expected an array");
  refuses_at("/transfers/0/pass", 3, "transfers[0].pass: expected an integer from 0 to 2");
  refuses_at("/transfers/0/tensor", "nobody", "transfers[0].tensor: expected the name of a tensor");
  refuses_at("/transfers/1/from", 2, "transfers[1].from: expected an integer from 0 to 1");
  refuses_at("/transfers/1/to", -1, "transfers[1].to: expected an integer from 0 to 1");
  refuses_at("/transfers/1/rows", json({0, 1LL << 40}), "transfers[1].rows[1]: expected an integer");
}

TEST_CASE("ranked plan file: every missing key is named", "[unit][plan_file]") {
  const Graph graph = small_graph();
  const json sound = to_json(small_ranked_plan(graph), graph);
  for (const auto& item : sound.items()) {
    json document = sound;
    document.erase(item.key());
    // Without ranks it would be a plan of one decode, which has no such version.
    const bool ranks = item.key() == "ranks";
    refuses_ranked(document, graph, ranks ? "version: written by a newer" : item.key() + ": missing");
  }
  for (const char* key : {"latent_rows", "sent", "plan"}) {
    json document = sound;
    document["ranks"][1].erase(key);
    refuses_ranked(document, graph, "ranks[1]." + std::string(key) + ": missing");
  }
  for (const auto& item : sound["transfers"][0].items()) {
    json document = sound;
    document["transfers"][0].erase(item.key());
    refuses_ranked(document, graph, "transfers[0]." + item.key() + ": missing");
  }
}

}  // namespace
}  // namespace headroom
