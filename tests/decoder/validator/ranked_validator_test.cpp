#include "decoder/validator/validator.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "decoder/base/errors.h"
#include "tests/decoder/validator/validator_check.h"
#include "tests/support/random_ranked_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using test::Random;
using testing::to_text;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

/// The plan must be refused, and for this reason before any other.
void refuses(const Plans& plan, const Model& model, Violation::Kind kind, const std::string& place) {
  const std::vector<Violation> found = validate(plan, model);
  INFO(to_text(found));
  REQUIRE_FALSE(found.empty());
  CHECK(std::string(name_of(found[0].kind)) == name_of(kind));
  CHECK(found[0].place.substr(0, place.size()) == place);
}

/// A decoder with attention whose every tensor is kept, in one block each: 3 ranks of 3, 2 and 2 rows.
struct Case {
  Model model = test::model_of(test::tiny_config());
  Plans plan;

  explicit Case(int32_t ranks = 3, double in_place = 0, int64_t micro_batch = 2) {
    Random random(7);
    test::RandomStyle style;
    style.keep = 1;
    style.late = 0;
    style.in_place = in_place;
    plan = test::draw_ranked_plan(model, test::request_for(model, {1, 7, 5}, 2), ranks, style, {}, random,
                                  micro_batch);
    INFO(to_text(validate(plan, model)));
    REQUIRE(validate(plan, model).empty());
  }

  /// The first transfer of which this is true, of those that have some.
  size_t find(const std::function<bool(const RowTransfer&)>& wanted) const {
    const auto found = std::find_if(plan.transfers.begin(), plan.transfers.end(), wanted);
    REQUIRE(found != plan.transfers.end());
    return static_cast<size_t>(found - plan.transfers.begin());
  }
  /// A halo that goes down to the last rank: one row of many.
  size_t halo() const {
    return find([](const RowTransfer& t) { return t.from == 1 && t.to == 2 && t.rows.length() == 1; });
  }
  const KeptTensor& kept(size_t rank, TensorId tensor) const {
    const std::vector<KeptTensor>& all = plan.plans[rank].kept;
    return *std::find_if(all.begin(), all.end(), [&](const KeptTensor& k) { return k.tensor == tensor; });
  }
};

std::string transfer_place(size_t number) {
  return "transfers[" + std::to_string(number) + "]";
}

TEST_CASE("every ranked plan from random decisions is valid", "[unit][validator]") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{600}, test::kSeedStep));
  const test::RankedDraw drawn = test::draw_ranks(seed);
  CAPTURE(seed, drawn.text);
  const std::vector<Violation> found = validate(drawn.plan, drawn.model);
  INFO(to_text(found));
  CHECK(found.empty());
}

TEST_CASE("ranked plans that are drawn have what there is to check", "[unit][validator]") {
  int with_transfers = 0, ranks_without_rows = 0, sent_in_place = 0, by_block_row = 0, on_cuda = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Plans plan = test::draw_ranks(seed).plan;
    with_transfers += plan.transfers.empty() ? 0 : 1;
    on_cuda += plan.request.device == DeviceKind::cuda ? 1 : 0;
    for (const Plan& own : plan.plans)
      ranks_without_rows += !own.share.alone() && own.share.latent_rows.length() == 0 ? 1 : 0;
    for (const KeptTensor& entry : plan.plans[0].kept) {
      const bool sent = std::any_of(plan.transfers.begin(), plan.transfers.end(),
                                    [&](const RowTransfer& t) { return t.tensor == entry.tensor; });
      sent_in_place += sent && entry.in_place_of != TensorId{-1} ? 1 : 0;
      by_block_row += sent && entry.block_rows == 1 ? 1 : 0;
    }
  }
  CHECK(with_transfers > 80);
  CHECK(ranks_without_rows > 40);
  CHECK(sent_in_place > 15);
  CHECK(by_block_row > 30);
  CHECK(on_cuda > 30);
}

TEST_CASE("one rank's plan is that of a decode alone", "[unit][validator]") {
  const Case one(1);
  CHECK(one.plan.plans[0].share.alone());
  CHECK(one.plan.transfers.empty());
  CHECK(one.plan.sent[0] == SentBytes{});
  CHECK(validate(one.plan.plans[0], one.model).empty());
}

TEST_CASE("each rank's plan is valid by itself, and none is that of a decode alone", "[unit][validator]") {
  const Case of;
  for (const Plan& plan : of.plan.plans) {
    CHECK(validate(plan, of.model).empty());
    Plan alone = plan;
    alone.share = {};
    CHECK_FALSE(validate(alone, of.model).empty());
  }
  Plan last = of.plan.plans[2];
  last.share.latent_rows = {4, 7};
  CHECK(validate(last, of.model)[0].kind == Violation::skipped_region);
  last.share.latent_rows = {5, 8};
  CHECK(validate(last, of.model)[0].place == "latent_rows");
  last.share = {3, 3, {5, 7}};
  CHECK(validate(last, of.model)[0].place == "rank");
}

TEST_CASE("no transfer can be left out, be shorter or come from elsewhere", "[unit][validator]") {
  const Case of(3, GENERATE(0.0, 1.0));
  REQUIRE(of.plan.transfers.size() > 20);
  for (size_t i = 0; i < of.plan.transfers.size(); ++i) {
    const RowTransfer transfer = of.plan.transfers[i];
    CAPTURE(i, of.model.graph.tensor(transfer.tensor).name, transfer.from, transfer.to, transfer.rows.begin,
            transfer.rows.end);
    const std::string reader = "ranks[" + std::to_string(transfer.to) + "].plan.passes[";
    Plans plan = of.plan;
    plan.transfers.erase(plan.transfers.begin() + static_cast<int64_t>(i));
    refuses(plan, of.model, Violation::missing_transfer, reader);

    plan = of.plan;
    plan.transfers[i].rows.end -= 1;
    const bool one_row = transfer.rows.length() == 1;
    refuses(plan, of.model, one_row ? Violation::malformed : Violation::missing_transfer,
            one_row ? transfer_place(i) : reader);

    // One of both ends is at the border of the sender's rows.
    for (const int64_t shift : {-1, 1}) {
      plan = of.plan;
      plan.transfers[i].rows = {transfer.rows.begin + shift, transfer.rows.end + shift};
      CHECK_FALSE(validate(plan, of.model).empty());
    }

    plan = of.plan;
    plan.transfers[i].from = 3 - transfer.from - transfer.to;
    refuses(plan, of.model, Violation::not_owned, transfer_place(i));

    plan = of.plan;
    plan.transfers.insert(plan.transfers.begin() + static_cast<int64_t>(i), transfer);
    refuses(plan, of.model, Violation::computed_twice, transfer_place(i + 1));

    plan = of.plan;
    plan.transfers[i].pass += 1;
    refuses(plan, of.model, Violation::read_after_release, transfer_place(i));
    plan.transfers[i].pass -= 2;
    refuses(plan, of.model, Violation::read_before_write, transfer_place(i));
  }
}

TEST_CASE("rows of a tensor whose blocks another has taken over are stale", "[unit][validator]") {
  const Case of(3, 1);
  const std::vector<KeptTensor>& kept = of.plan.plans[0].kept;
  int tried = 0;
  for (const KeptTensor& taker : kept) {
    if (taker.in_place_of == TensorId{-1}) continue;
    for (size_t i = 0; i < of.plan.transfers.size(); ++i) {
      if (of.plan.transfers[i].tensor != taker.tensor) continue;
      // Send rows of the tensor that lies in the same blocks instead: together with this one, or before.
      Plans plan = of.plan;
      plan.transfers[i].tensor = taker.in_place_of;
      refuses(plan, of.model, Violation::read_after_release, transfer_place(i));
      plan.transfers[i].pass = of.kept(0, taker.in_place_of).first_pass;
      const std::vector<Violation> found = validate(plan, of.model);
      CHECK(std::any_of(found.begin(), found.end(),
                        [](const Violation& v) { return v.kind == Violation::missing_transfer; }));
      ++tried;
    }
  }
  CHECK(tried > 3);
}

TEST_CASE("transfers out of order are refused", "[unit][validator]") {
  const Case of;
  int tried = 0;
  for (size_t i = 0; i + 1 < of.plan.transfers.size(); ++i) {
    Plans plan = of.plan;
    RowTransfer &a = plan.transfers[i], &b = plan.transfers[i + 1];
    if (a.pass == b.pass && (a.from > a.to) == (b.from > b.to)) continue;
    std::swap(a, b);
    refuses(plan, of.model, Violation::deadlock, transfer_place(i + 1));
    ++tried;
  }
  CHECK(tried > 5);
}

TEST_CASE("transfers that are none are refused", "[unit][validator]") {
  const Case of;
  const size_t i = of.halo();
  const auto refuses_transfer = [&](Violation::Kind kind, auto change) {
    Plans plan = of.plan;
    change(plan.transfers[i]);
    refuses(plan, of.model, kind, transfer_place(i));
  };
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.from = -1; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.to = 3; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.to = t.from; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.tensor = TensorId{-1}; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.tensor = TensorId{9999}; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { t.rows.end = t.rows.begin; });
  refuses_transfer(Violation::malformed, [](RowTransfer& t) { std::swap(t.rows.begin, t.rows.end); });
  refuses_transfer(Violation::read_before_write, [](RowTransfer& t) { t.tensor = TensorId{0}; });
  refuses_transfer(Violation::not_owned, [](RowTransfer& t) { t.rows = {-kHuge, kHuge}; });
  // Rank 0 has no place for what rank 2 reads.
  refuses_transfer(Violation::not_owned, [](RowTransfer& t) { t.to = 0; });
  // The rank has a band now, but reads none of it.
  Plans plan = of.plan;
  RowTransfer& transfer = plan.transfers[i];
  for (KeptTensor& entry : plan.plans[0].kept) {
    if (entry.tensor != transfer.tensor) continue;
    entry.rows->end = transfer.rows.end;
    entry.block_rows = entry.rows->length();
  }
  RowTransfer more = transfer;
  more.to = 0;
  for (Plan& own : plan.plans) {
    own.limit_bytes = own.predicted_peak_bytes = int64_t{1} << 30;
    for (Pass& pass : own.passes) pass.predicted_peak_bytes = own.predicted_peak_bytes;
  }
  const auto at = std::find_if(plan.transfers.begin(), plan.transfers.end(),
                               [&](const RowTransfer& t) { return t.pass == more.pass && t.from > t.to; });
  const auto number = static_cast<size_t>(at - plan.transfers.begin());
  plan.transfers.insert(at, more);
  refuses(plan, of.model, Violation::malformed, transfer_place(number));
}

TEST_CASE("shares of the ranks have every row once", "[unit][validator]") {
  const Case of;
  const auto refuses_shares = [&](Violation::Kind kind, const std::string& place, auto change) {
    Plans plan = of.plan;
    change(plan.plans);
    refuses(plan, of.model, kind, place);
  };
  using Plans = std::vector<Plan>;
  REQUIRE(of.plan.plans[1].share.latent_rows == Interval{3, 5});
  refuses_shares(Violation::computed_twice, "ranks[1].latent_rows",
                 [](Plans& p) { p[1].share.latent_rows.begin -= 1; });
  refuses_shares(Violation::skipped_region, "ranks[1].latent_rows",
                 [](Plans& p) { p[1].share.latent_rows.begin += 1; });
  refuses_shares(Violation::skipped_region, "ranks[0].latent_rows",
                 [](Plans& p) { p[0].share.latent_rows.begin += 1; });
  refuses_shares(Violation::skipped_region, "ranks", [](Plans& p) { p[2].share.latent_rows.end -= 1; });
  refuses_shares(Violation::malformed, "ranks[2].latent_rows",
                 [](Plans& p) { p[2].share.latent_rows.end += 1; });
  refuses_shares(Violation::malformed, "ranks[0].latent_rows", [](Plans& p) {
    p[0].share.latent_rows = {kHuge, -kHuge};
  });
  refuses_shares(Violation::malformed, "ranks[0].plan", [](Plans& p) { std::swap(p[0], p[1]); });
  refuses_shares(Violation::malformed, "ranks[0].plan", [](Plans& p) { p.pop_back(); });
  refuses_shares(Violation::malformed, "ranks", [](Plans& p) { p.clear(); });
  refuses_shares(Violation::malformed, "ranks", [](Plans& p) { p.resize(2000, p[0]); });
}

TEST_CASE("more ranks than rows of the latent", "[unit][validator]") {
  const Case of(9);
  for (size_t rank = 7; rank < 9; ++rank) {
    CHECK(of.plan.plans[rank].share.latent_rows.length() == 0);
    CHECK(of.plan.sent[rank].total() == of.plan.sent[rank].statistics_bytes);
    // The rank has no place for anything.
    Plans plan = of.plan;
    const auto number = static_cast<int32_t>(rank);
    plan.transfers[0].to = number;
    refuses(plan, of.model, Violation::not_owned, transfer_place(0));
    plan = of.plan;
    plan.plans[rank].kept[0].rows = Interval{0, 1};
    refuses(plan, of.model, Violation::malformed, "ranks[" + std::to_string(rank) + "].plan.kept[0]");
    plan = of.plan;
    plan.plans[rank].passes[0].tiles.y = {{6, 7}};
    refuses(plan, of.model, Violation::malformed, "ranks[" + std::to_string(rank) + "].plan.passes[0].tiles");
  }
}

TEST_CASE("ranks that do not run the same passes would wait for one another", "[unit][validator]") {
  const Case of;
  Plans plan = of.plan;
  plan.plans[1].passes[2].name = "other";
  refuses(plan, of.model, Violation::ranks_differ, "ranks[1].plan.passes[2].name");

  // Each of them valid by itself: other tensors kept, or items that go through it one by one.
  Random random(8);
  test::RandomStyle style;
  style.keep = 0;
  const Plans other = test::draw_ranked_plan(of.model, of.plan.request, 3, style, {}, random, 2);
  REQUIRE(validate(other, of.model).empty());
  plan = of.plan;
  plan.plans[2] = other.plans[2];
  refuses(plan, of.model, Violation::ranks_differ, "ranks[2].plan.");
  const Case by_item(3, 0, 1);
  plan = of.plan;
  plan.plans[1] = by_item.plan.plans[1];
  refuses(plan, of.model, Violation::ranks_differ, "ranks[1].plan.micro_batch");

  // A halo that does no harm where it is, but the steps are others.
  plan = of.plan;
  Step* wider = nullptr;
  size_t pass = 0;
  for (size_t p = 0; p < plan.plans[1].passes.size(); ++p) {
    for (Step& step : plan.plans[1].passes[p].steps) {
      if (step.kind != OpKind::gather || step.inputs[0].tensor != of.model.graph.input()) continue;
      wider = &step;
      pass = p;
    }
  }
  REQUIRE(wider != nullptr);
  wider->halo.before.x = wider->pad.x = 9;
  for (Plan& own : plan.plans) {
    own.limit_bytes = own.predicted_peak_bytes = int64_t{1} << 30;
    for (Pass& each : own.passes) each.predicted_peak_bytes = own.predicted_peak_bytes;
  }
  refuses(plan, of.model, Violation::ranks_differ,
          "ranks[1].plan.passes[" + std::to_string(pass) + "].steps[");
}

TEST_CASE("statistics are gathered in one order", "[unit][validator]") {
  // Two norms over what one pass makes.
  Model model;
  model.class_name = "AutoencoderKL";
  model.latent_channels = 4;
  Graph& graph = model.graph;
  const TensorId a = graph.conv("a", graph.add_latent(4), 8, {1, 3, 3});
  const TensorId b = graph.conv("b", a, 8, {1, 1, 1});
  const TensorId of_a =
      graph.norm("norm_a", a, graph.statistics("a.statistics", a, 2, 1e-6), Activation::silu);
  const TensorId of_b =
      graph.norm("norm_b", b, graph.statistics("b.statistics", b, 4, 1e-6), Activation::silu);
  graph.set_output(graph.conv("out", graph.add("sum", of_a, of_b), 3, {1, 3, 3}));
  Random random(3);
  const Plans good = test::draw_ranked_plan(model, test::request_for(model, {1, 4, 4}), 2,
                                            {.keep = 1, .late = 0}, {}, random);
  REQUIRE(validate(good, model).empty());
  Plans plan = good;
  std::vector<Step>& steps = plan.plans[1].passes[0].steps;
  std::vector<size_t> gathering;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].kind == OpKind::statistics) gathering.push_back(s);
  }
  REQUIRE(gathering.size() == 2);
  // Each rank alone stays valid: the first gather moves behind the second.
  const auto first = static_cast<int32_t>(gathering[0]), second = static_cast<int32_t>(gathering[1]);
  std::rotate(steps.begin() + first, steps.begin() + first + 1, steps.begin() + second + 1);
  for (Step& step : steps) {
    for (Operand& operand : step.inputs)
      operand.step -= operand.step > first && operand.step <= second ? 1 : 0;
  }
  for (Plan& own : plan.plans) {
    own.limit_bytes = own.predicted_peak_bytes = int64_t{1} << 30;
    own.passes[0].predicted_peak_bytes = own.predicted_peak_bytes;
  }
  REQUIRE(validate(plan.plans[1], model).empty());
  refuses(plan, model, Violation::ranks_differ,
          "ranks[1].plan.passes[0].steps[" + std::to_string(first) + "]");
}

TEST_CASE("each rank's tiles and blocks have its rows", "[unit][validator]") {
  const Case of;
  for (size_t rank = 0; rank < 3; ++rank) {
    CAPTURE(rank);
    const std::string plan_of = "ranks[" + std::to_string(rank) + "].plan.";
    for (size_t p = 0; p < of.plan.plans[rank].passes.size(); ++p) {
      const std::string tiles = plan_of + "passes[" + std::to_string(p) + "].tiles.y";
      Plans plan = of.plan;
      plan.plans[rank].passes[p].tiles.y.front().begin += 1;
      const bool gone = plan.plans[rank].passes[p].tiles.y.front().length() == 0;
      refuses(plan, of.model, gone ? Violation::malformed : Violation::skipped_region, tiles);
      plan = of.plan;
      plan.plans[rank].passes[p].tiles.y.front().begin -= 1;  // of the rank before, or of nobody
      refuses(plan, of.model, Violation::malformed, tiles);
      plan = of.plan;
      plan.plans[rank].passes[p].tiles.y.back().end += 1;
      refuses(plan, of.model, Violation::malformed, tiles);
    }
  }
  const TensorId sent = of.plan.transfers[of.halo()].tensor;
  const auto refuses_rows = [&](Violation::Kind kind, const std::string& place, auto change) {
    Plans plan = of.plan;
    for (KeptTensor& entry : plan.plans[2].kept) {
      REQUIRE(entry.rows.has_value());
      if (entry.tensor == sent) change(entry);
    }
    refuses(plan, of.model, kind, place);
  };
  const std::string kept = "ranks[2].plan.kept[";
  refuses_rows(Violation::missing_halo, "ranks[2].plan.passes[",
               [](KeptTensor& entry) { entry.rows->begin += 1; });
  refuses_rows(Violation::skipped_region, kept, [](KeptTensor& entry) { entry.rows->end -= 1; });
  refuses_rows(Violation::malformed, kept, [](KeptTensor& entry) { entry.rows->end += 1; });
  refuses_rows(Violation::malformed, kept, [](KeptTensor& entry) { entry.rows = Interval{kHuge, -kHuge}; });
  refuses_rows(Violation::peak_understated, "ranks[2].plan.passes[",
               [](KeptTensor& entry) { entry.rows.reset(); });  // all rows
  refuses_rows(Violation::misplaced, kept, [](KeptTensor& entry) { entry.tier = MemoryTier::host; });
}

TEST_CASE("each rank has a limit of its own, and sends what is said", "[unit][validator]") {
  const Case of;
  for (size_t rank = 0; rank < 3; ++rank) {
    const std::string place = "ranks[" + std::to_string(rank) + "].";
    Plans plan = of.plan;
    plan.plans[rank].limit_bytes -= 1;
    refuses(plan, of.model, Violation::peak_above_limit, place + "plan.");
    for (const int64_t more : {-1, 1}) {
      plan = of.plan;
      plan.sent[rank].rows_bytes += more;
      refuses(plan, of.model, Violation::traffic_misstated, place + "sent.rows_bytes");
      plan = of.plan;
      plan.sent[rank].statistics_bytes += more;
      refuses(plan, of.model, Violation::traffic_misstated, place + "sent.statistics_bytes");
      plan = of.plan;
      plan.sent[rank].output_bytes += more;
      refuses(plan, of.model, Violation::traffic_misstated, place + "sent.output_bytes");
    }
  }
  Plans plan = of.plan;
  plan.sent.pop_back();
  refuses(plan, of.model, Violation::malformed, "ranks");
}

TEST_CASE("what holds for the whole decode", "[unit][validator]") {
  const Case of;
  const auto refuses_plan = [&](const std::string& place, auto change) {
    Plans plan = of.plan;
    change(plan);
    refuses(plan, of.model, Violation::malformed, place);
  };
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  refuses_plan("link.bytes_per_second", [](Plans& p) { p.link.bytes_per_second = kNone; });
  refuses_plan("link.seconds", [](Plans& p) { p.link.seconds = -1; });
  refuses_plan("predicted.seconds", [](Plans& p) { p.predicted_seconds = kNone; });
  refuses_plan("request", [](Plans& p) { p.request.width_pixels += 1; });
  refuses_plan("ranks[0].plan.request", [](Plans& p) { p.request.width_pixels *= 2; });
  refuses_plan("ranks[2].plan.request", [](Plans& p) { p.plans[2].request.dtype = Dtype::bf16; });
  CHECK_NOTHROW(require_valid(of.plan, of.model, "plan.json"));
  Plans plan = of.plan;
  plan.sent[1].rows_bytes += 1;
  CHECK_THROWS_WITH(require_valid(plan, of.model, "plan.json"),
                    Catch::StartsWith("plan.json: ranks[1].sent.rows_bytes: traffic misstated: expected"));
}

/// One number of the plan, whichever.
void damage(Plans& plan, Random& random) {
  const auto pick = [&](auto& list) -> auto& {
    return list[static_cast<size_t>(random.integer(0, static_cast<int64_t>(list.size()) - 1))];
  };
  const int64_t value = random.pick<int64_t>(
      {0, 1, -1, 2, 3, 5, 7, 1 << 20, INT32_MAX, INT32_MIN, kHuge, std::numeric_limits<int64_t>::min()});
  const auto small = static_cast<int32_t>(value);
  Plan& own = pick(plan.plans);
  RowTransfer& transfer = pick(plan.transfers);
  KeptTensor& entry = pick(own.kept);
  Pass& pass = pick(own.passes);
  const std::vector<std::function<void()>> changes{
      [&] { transfer.pass = small; },
      [&] { transfer.tensor = TensorId{small}; },
      [&] { transfer.from = small; },
      [&] { transfer.to = small; },
      [&] { transfer.rows.begin = value; },
      [&] { transfer.rows.end = value; },
      [&] { std::swap(transfer, pick(plan.transfers)); },
      [&] { own.share.rank = small; },
      [&] { own.share.ranks = small; },
      [&] { own.share.latent_rows.begin = value; },
      [&] { own.share.latent_rows.end = value; },
      [&] {
        own.share.latent_rows = {value, value};
      },
      [&] { own.micro_batch = value; },
      [&] { entry.rows.reset(); },
      [&] {
        entry.rows = Interval{value, value};
      },
      [&] {
        entry.rows = Interval{value, entry.rows.value_or(Interval{}).end};
      },
      [&] {
        entry.rows = Interval{entry.rows.value_or(Interval{}).begin, value};
      },
      [&] { entry.block_rows = value; },
      [&] { entry.tensor = TensorId{small}; },
      [&] { entry.in_place_of = TensorId{small}; },
      [&] { entry.last_pass = small; },
      [&] { pass.scale.y = small; },
      [&] { pass.tiles.y.clear(); },
      [&] { pick(pass.steps).halo.after.y = small; },
      [&] { pick(pass.steps).kind = OpKind{small}; },
      [&] { pick(plan.sent).rows_bytes = value; },
      [&] { std::swap(own, pick(plan.plans)); },
      [&] { plan.request.height_pixels = value; },
  };
  pick(changes)();
}

TEST_CASE("random damage of ranked plans is refused or harmless, never a crash", "[unit][validator]") {
  const Case of(3, 0.5);
  Random random(31);
  int refused = 0;
  constexpr int kRounds = test::kSanitized ? 300 : 3000;
  for (int round = 0; round < kRounds; ++round) {
    Plans plan = of.plan;
    for (int64_t i = random.integer(1, 3); i > 0; --i) damage(plan, random);
    const std::vector<Violation> found = validate(plan, of.model);
    REQUIRE(found.size() <= 20);
    refused += found.empty() ? 0 : 1;
  }
  CHECK(refused > kRounds * 9 / 10);
}

}  // namespace
}  // namespace headroom
