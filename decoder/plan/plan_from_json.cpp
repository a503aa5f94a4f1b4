#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "decoder/plan/engine_choice_file.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/graph_names.h"
#include "decoder/plan/plan_file.h"

namespace headroom {
namespace {

// Upper bounds on values in a file: far above any real plan, and small enough to be harmless.
constexpr int64_t kMostPosition = int64_t{1} << 40;
constexpr int64_t kMostReach = int64_t{1} << 20;
constexpr int64_t kMostPasses = 10'000;
constexpr int64_t kMostSteps = 10'000;
constexpr int64_t kMostOperands = 8;
constexpr int64_t kMostIntervals = 1'000'000;
constexpr size_t kMostNameBytes = 4096;

int32_t small_integer(const JsonFields& fields, int64_t least, int64_t most) {
  return static_cast<int32_t>(fields.integer(least, most));
}

std::string name_text(const JsonFields& fields) {
  std::string text = fields.text();
  if (text.size() > kMostNameBytes) fields.fail("expected a name of at most 4096 bytes");
  return text;
}

/// Returns the value whose name_of() equals the text.
template <typename Choice, size_t count>
Choice one_of(const JsonFields& fields, const std::array<Choice, count>& choices) {
  const std::string text = fields.text();
  std::string known;
  for (Choice choice : choices) {
    if (text == name_of(choice)) return choice;
    known += (known.empty() ? "" : ", ") + std::string(name_of(choice));
  }
  fields.fail("expected one of " + known + ", found " + fields.value().dump().substr(0, 40));
}

Dtype read_dtype(const JsonFields& fields) {
  try {
    return parse_dtype(fields.text());
  } catch (const InputError&) {  // rethrown below with the file and the key
    fields.fail("expected fp32, bf16 or fp16, found " + fields.value().dump().substr(0, 40));
  }
}

/// An array [t, y, x].
Axes<int32_t> read_axes(const JsonFields& fields, int64_t least, int64_t most) {
  if (fields.size(3) != 3) fields.fail("expected [t, y, x]");
  return {small_integer(fields[0], least, most), small_integer(fields[1], least, most),
          small_integer(fields[2], least, most)};
}

std::vector<Interval> read_intervals(const JsonFields& fields) {
  std::vector<Interval> intervals(fields.size(kMostIntervals));
  for (size_t i = 0; i < intervals.size(); ++i) intervals[i] = read_interval(fields[i], kMostPosition);
  return intervals;
}

/// Reads the parts of a plan that name tensors and operations.
class PlanReader {
 public:
  explicit PlanReader(const Graph& graph) : names_(graph) {}

  KeptTensor read_kept(const JsonFields& fields) {
    KeptTensor kept;
    kept.tier = one_of(fields["tier"], std::array{MemoryTier::device, MemoryTier::host, MemoryTier::scratch});
    kept.tensor = names_.tensor(fields["tensor"]);
    if (fields.has("rows")) kept.rows = read_interval(fields["rows"], kMostPosition);
    kept.block_rows = fields["block_rows"].integer(1, kMostPosition);
    kept.first_pass = small_integer(fields["first_pass"], 0, kMostPasses - 1);
    kept.last_pass = small_integer(fields["last_pass"], 0, kMostPasses - 1);
    if (fields.has("in_place_of")) kept.in_place_of = names_.tensor(fields["in_place_of"]);
    return kept;
  }

  Pass read_pass(const JsonFields& fields) const {
    Pass pass;
    pass.name = name_text(fields["name"]);
    pass.scale = read_axes(fields["scale"], 1, kMostReach);
    const JsonFields tiles = fields["tiles"];
    pass.tiles = {read_intervals(tiles["t"]), read_intervals(tiles["y"]), read_intervals(tiles["x"])};
    const JsonFields steps = fields["steps"];
    const size_t count = steps.size(kMostSteps);
    pass.steps.reserve(count);
    for (size_t i = 0; i < count; ++i) pass.steps.push_back(read_step(steps[i]));
    if (fields.has("carries_rows")) pass.carries_rows = fields["carries_rows"].boolean();
    pass.convolutions.algorithm = one_of(
        fields["convolutions"], std::array{ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd});
    if (fields.has("direct_convolutions")) {
      const JsonFields direct = fields["direct_convolutions"];
      const size_t ops = direct.size(kMostSteps);
      for (size_t i = 0; i < ops; ++i) pass.convolutions.direct.push_back(names_.op(direct[i]));
    }
    const JsonFields predicted = fields["predicted"];
    pass.predicted_peak_bytes = predicted["peak_bytes"].integer(0, kMostBytes);
    pass.predicted_seconds = predicted["seconds"].amount();
    pass.predicted_flops = predicted["flops"].amount();
    return pass;
  }

 private:
  OpKind step_kind(const JsonFields& fields) const { return one_of(fields, kAllKinds); }

  Step read_step(const JsonFields& fields) const {
    Step step;
    step.kind = step_kind(fields["kind"]);
    step.tensor = names_.tensor(fields["tensor"]);
    if (fields.has("op")) step.op = names_.op(fields["op"]);
    const JsonFields inputs = fields["inputs"];
    const size_t count = inputs.size(kMostOperands);
    for (size_t i = 0; i < count; ++i) {
      Operand operand{names_.tensor(inputs[i]["tensor"])};
      if (inputs[i].has("step")) operand.step = small_integer(inputs[i]["step"], 0, kMostSteps - 1);
      step.inputs.push_back(operand);
    }
    if (fields.has("halo")) {
      step.halo.before = read_axes(fields["halo"]["before"], 0, kMostReach);
      step.halo.after = read_axes(fields["halo"]["after"], 0, kMostReach);
    }
    if (fields.has("pad")) step.pad = read_axes(fields["pad"], 0, kMostReach);
    if (fields.has("edges"))
      step.edges = one_of(fields["edges"], std::array{Edges::zeros, Edges::replicate, Edges::reflect});
    if (fields.has("add")) step.add = names_.op(fields["add"]);
    if (fields.has("target"))
      step.target =
          one_of(fields["target"], std::array{StepTarget::tile, StepTarget::blocks, StepTarget::in_place});
    return step;
  }

  const GraphNames names_;
};

}  // namespace

Request read_request(const JsonFields& file) {
  check_schema(file, "headroom.plan", has_ranks(file) ? kGroupVersion : kPlanVersion);
  return request_from_json(file["request"]);
}

Direction direction_from_json(const JsonFields& fields) {
  return fields.has("direction") ? one_of(fields["direction"], kDirections) : Direction::decode;
}

Tf32 tf32_from_json(const JsonFields& fields) {
  return fields.has("tf32") ? one_of(fields["tf32"], kTf32Choices) : Tf32{};
}

Request request_from_json(const JsonFields& fields) {
  Request request;
  request.model = name_text(fields["model"]);
  request.width_pixels = fields["width_pixels"].integer(1, kMostPixels);
  request.height_pixels = fields["height_pixels"].integer(1, kMostPixels);
  request.frames = fields["frames"].integer(1, 1'000'000);
  request.batch = fields["batch"].integer(1, 1'000'000);
  request.dtype = read_dtype(fields["dtype"]);
  request.direction = direction_from_json(fields);
  if (fields.has("picture_dtype")) request.picture_dtype = read_dtype(fields["picture_dtype"]);
  request.device = one_of(fields["device"], kDeviceKinds);
  request.tf32 = tf32_from_json(fields);
  if (const std::string wrong = wrong_tf32(request); !wrong.empty()) fields["tf32"].fail(wrong);
  return request;
}

Interval read_interval(const JsonFields& fields, int64_t most) {
  if (fields.size(2) != 2) fields.fail("expected [begin, end]");
  return {fields[0].integer(0, most), fields[1].integer(0, most)};
}

Plan plan_from_json(const JsonFields& file, const Graph& graph) {
  if (has_ranks(file)) {
    file["ranks"].fail(
        "expected a plan of one decode, found plans of several ranks; headroom-decode --plan runs them under "
        "torchrun and headroom-plan validate checks them");
  }
  Plan plan;
  plan.request = read_request(file);
  plan.limit_bytes = file["limit_bytes"].integer(0, INT64_MAX);  // INT64_MAX means no limit
  plan.micro_batch = file["micro_batch"].integer(1, plan.request.batch);
  plan.weights_bytes = file["weights_bytes"].integer(0, kMostBytes);
  plan.reserve_bytes = file["reserve_bytes"].integer(0, kMostBytes);
  plan.predicted_peak_bytes = file["predicted"]["peak_bytes"].integer(0, kMostBytes);
  plan.predicted_seconds = file["predicted"]["seconds"].amount();
  if (file["predicted"].has("learnt")) {
    const JsonFields learnt = file["predicted"]["learnt"];
    plan.learnt.decodes = static_cast<int32_t>(learnt["decodes"].integer(1, INT32_MAX));
    plan.learnt.ratio = learnt["ratio"].amount();
    if (plan.learnt.ratio == 0) learnt["ratio"].fail("expected more than 0, found 0");
  }
  if (file["predicted"].has("seconds_low")) {
    plan.predicted_seconds_low = file["predicted"]["seconds_low"].amount();
    plan.predicted_seconds_high = file["predicted"]["seconds_high"].amount();
  }
  plan.weights = one_of(file["weights"], std::array{WeightResidency::resident, WeightResidency::per_pass});
  plan.bound_seconds = file["bound_seconds"].amount();
  if (file.has("host_limit_bytes")) plan.host_limit_bytes = file["host_limit_bytes"].integer(0, kMostBytes);
  if (file.has("host_weights_bytes"))
    plan.host_weights_bytes = file["host_weights_bytes"].integer(0, kMostBytes);
  if (file.has("scratch")) {
    plan.scratch_folder = name_text(file["scratch"]["folder"]);
    plan.scratch_limit_bytes = file["scratch"]["limit_bytes"].integer(0, kMostBytes);
  }
  if (file.has("environment")) {
    plan.environment = {name_text(file["environment"]["device"]),
                        name_text(file["environment"]["libraries"])};
  }
  plan.engines = engine_choices_of(file);
  plan.optimal = file["optimal"].boolean();
  plan.exact = file["exact"].boolean();
  plan.assumed = file["assumed"].boolean();

  PlanReader reader(graph);
  const JsonFields kept = file["kept"];
  const size_t kept_count = kept.size(graph.tensors().size());
  for (size_t i = 0; i < kept_count; ++i) plan.kept.push_back(reader.read_kept(kept[i]));
  const JsonFields passes = file["passes"];
  const size_t pass_count = passes.size(kMostPasses);
  for (size_t i = 0; i < pass_count; ++i) plan.passes.push_back(reader.read_pass(passes[i]));
  return plan;
}

namespace {

/// Reads the plans of all ranks and the bytes that they send.
void read_ranks(const JsonFields& fields, const Graph& graph, Plans& group) {
  const size_t ranks = fields.size(kMostRanks);
  if (ranks == 0) fields.fail("expected at least one rank, found none");
  for (size_t rank = 0; rank < ranks; ++rank) {
    const JsonFields entry = fields[rank];
    const Interval rows = read_interval(entry["latent_rows"], kMostPixels);
    const JsonFields sent = entry["sent"];
    group.sent.push_back({sent["rows_bytes"].integer(0, kMostBytes),
                          sent["statistics_bytes"].integer(0, kMostBytes),
                          sent["output_bytes"].integer(0, kMostBytes)});
    Plan own = plan_from_json(entry["plan"], graph);
    own.share = {static_cast<int32_t>(rank), static_cast<int32_t>(ranks), rows};
    group.plans.push_back(std::move(own));
  }
}

std::vector<RowTransfer> read_transfers(const JsonFields& fields, const Graph& graph,
                                        const std::vector<Plan>& plans) {
  const GraphNames names(graph);
  std::vector<RowTransfer> transfers;
  const size_t count = fields.size(kMostTransfers);
  const auto last_rank = static_cast<int64_t>(plans.size()) - 1;
  int64_t last_pass = 0;
  for (const Plan& own : plans) last_pass = std::max(last_pass, static_cast<int64_t>(own.passes.size()) - 1);
  for (size_t i = 0; i < count; ++i) {
    const JsonFields entry = fields[i];
    transfers.push_back({small_integer(entry["pass"], 0, last_pass), names.tensor(entry["tensor"]),
                         small_integer(entry["from"], 0, last_rank), small_integer(entry["to"], 0, last_rank),
                         read_interval(entry["rows"], kMostPixels)});
  }
  return transfers;
}

}  // namespace

bool has_ranks(const JsonFields& file) {
  return file.has("ranks");
}

Plans plans_from_json(const JsonFields& file, const Graph& graph) {
  if (!has_ranks(file)) return alone(plan_from_json(file, graph));
  Plans group;
  group.request = read_request(file);
  group.link = {file["link"]["bytes_per_second"].amount(), file["link"]["seconds"].amount()};
  group.predicted_seconds = file["predicted"]["seconds"].amount();
  read_ranks(file["ranks"], graph, group);
  group.transfers = read_transfers(file["transfers"], graph, group.plans);
  return group;
}

}  // namespace headroom
