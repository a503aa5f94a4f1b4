#include "planner/decode_program/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/fnv_hash.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/text.h"
#include "decoder/exchange/exchange.h"
#include "decoder/exchange/open_exchange.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/latents/scale.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/plan_file.h"
#include "decoder/session/ranks.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/outputs.h"

namespace headroom {
namespace {

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Hash of all values of all parameters.
uint64_t fingerprint_of(const Graph& graph, const ParameterSource& weights) {
  constexpr int64_t kPiece = 1 << 18;
  uint64_t print = kFnvBasis;
  std::vector<float> values;
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      const int64_t count = elements_of(parameter);
      for (int64_t at = 0; at < count; at += kPiece) {
        const Interval piece{at, std::min(count, at + kPiece)};
        values.resize(static_cast<size_t>(piece.length()));
        weights(parameter, piece, values.data());
        print = fnv_hash(bytes_of(values), print);
      }
    }
  }
  return print;
}

/// Plans for all ranks, and reads the model, the latent and the weights into `prepared`. Returns the plans.
Plans prepare_rank(const DecodeOptions& options, const RankEnvironment& environment, Exchange& exchange,
                   Prepared& prepared, Notes& notes) {
  Work& work = *prepared.work;
  const Model any_frames = open_model(options.model);
  const auto open = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  GivenLatent given = open_latent(any_frames, open, options.latents.front(), options.latent_scale);
  if (environment.rank == 0) {
    notes.add(upcast_note(any_frames, options));
    notes.add(given.note);
  }
  if (options.plan_file.empty()) notes.tell(WorkDone{0, "planning"});
  auto [model, plans] = choose_ranks(options, any_frames, given.array, environment.ranks, work.gpu.get());
  const std::string origin = options.plan_file.empty() ? "--limit" : options.plan_file;
  if (static_cast<int32_t>(plans.plans.size()) != environment.ranks) {
    throw InputError(origin + ": expected a plan for the " + std::to_string(environment.ranks) +
                     " ranks that torchrun started, found one for " + std::to_string(plans.plans.size()));
  }
  require_valid(plans, model, origin);
  work.model = std::move(model);
  work.plans = {plans.plans[static_cast<size_t>(environment.rank)]};
  work.tasks = {{options.plan_file.empty() ? options.profile_file : options.plan_file}};
  check_latent(work.model, work.plans.front(), given.array);
  // Reading may be slow, so it counts as work to the other ranks.
  work.weights = [source = open(), &exchange](const Parameter& parameter, const Interval& elements,
                                              float* values) {
    source(parameter, elements, values);
    exchange.working();
  };
  work.jobs.emplace_back().input = [latent = std::make_shared<const Array>(std::move(given.array))] {
    return latent;
  };
  return std::move(plans);
}

/// Requires the same plan, latent and weights on all ranks. Throws ExchangeError otherwise.
void agree_on(Exchange& exchange, const DecodeOptions& options, const Plans& plans, const Work& work) {
  const Graph& graph = work.model.graph;
  const std::string weights_name = options.random_seed
                                       ? "seed " + std::to_string(*options.random_seed)
                                       : (options.weights.empty() ? options.model : options.weights);
  agree(exchange,
        {{"plan", to_json(plans, graph).dump(), options.plan_file},
         {"latent", std::string(bytes_of(work.jobs.front().input()->values)), options.latents.front()},
         {"weights", std::to_string(fingerprint_of(graph, work.weights)), weights_name}});
}

/// Lets the run decode this rank's rows only. Rank 0 writes the output, and the trace of all ranks.
void take_part(const DecodeOptions& options, const Plans& plans, Exchange& exchange,
               const ResidentLimit& before, Prepared& prepared) {
  const bool writes = exchange.rank() == 0;
  prepared.work->jobs.front().target.open = [&options, writes](const std::filesystem::path&,
                                                               const PictureShape& shape) {
    return writes ? open_output(options, shape) : std::make_unique<DiscardingSink>(shape);
  };
  prepared.subject = options.output;
  RunOptions& how = prepared.options;
  how.begun.preview = options.preview_file;
  how.decode = [&](std::unique_ptr<Session> session, const Array& latent, PictureSink& output,
                   ProgressEvents& events) {
    const Work& work = *prepared.work;
    ResidentLimit limit =
        ResidentLimit::of_decode(work.plans.front().limit_bytes, !options.trace_file.empty(), before);
    WatchedExchange watched(exchange, events, work.gpu == nullptr ? &limit : nullptr);
    const RankedDecode ranks{
        work.model, plans, watched,
        options.scratch.empty() ? folder_for_temporary_files() : std::filesystem::path(options.scratch)};
    return decode(ranks, std::move(session), latent, output, events);
  };
  if (options.trace_file.empty()) return;
  how.trace_bounds = bounds_of_rank(exchange.size());
  how.trace = [&](const RecordedDecode& done) { write_rank_traces(exchange, done, options.trace_file); };
}

/// Restricts this process to one GPU, chosen by local rank. A single card in CUDA_VISIBLE_DEVICES stays.
void take_own_card(const RankEnvironment& environment) {
  std::vector<std::string> cards;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    TextReader list(visible);
    for (std::string card; std::getline(list, card, ',');) cards.push_back(card);
    if (cards.size() < 2) return;  // the launcher has already selected one
  }
  const auto local = static_cast<size_t>(environment.local_rank);
  if (!cards.empty() && local >= cards.size()) {
    throw InputError("CUDA_VISIBLE_DEVICES: expected a card for local rank " + std::to_string(local) +
                     ", found " + std::to_string(cards.size()));
  }
  setenv("CUDA_VISIBLE_DEVICES", cards.empty() ? std::to_string(local).c_str() : cards[local].c_str(), 1);
}

/// Returns null for a decode on the CPU.
std::unique_ptr<gpu::Gpu> open_own_gpu(const DecodeOptions& options, const RankEnvironment& environment) {
  DeviceName device = options.device.value_or(DeviceName{});
  if (!options.plan_file.empty() && !is_gpu(device))
    device.kind = PlanFile(options.plan_file).request().device;
  if (!is_gpu(device)) return nullptr;
  if (device.index != 0) {
    throw InputError("--device: each rank takes the GPU of its local rank: expected cuda, found " +
                     text_of(device));
  }
  take_own_card(environment);
  return gpu::open_gpu_for(device.kind);
}

ExchangeKind kind_of(const DecodeOptions& options, const gpu::Gpu* gpu) {
  if (options.rank_exchange == "gloo") return ExchangeKind::gloo;
  if (options.rank_exchange == "nccl" && gpu == nullptr)
    throw InputError("--rank-exchange: nccl is for plans on a GPU");
  return gpu != nullptr ? ExchangeKind::nccl : ExchangeKind::gloo;
}

/// Bytes of the files that a rank holds in memory. A file that cannot be read counts 0; its reader reports
/// it.
int64_t bytes_of_files(const DecodeOptions& options) {
  int64_t bytes = 0;
  for (const std::string& file : {options.latents.front(), options.plan_file}) {
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(file, failed);
    if (!failed) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

/// Like open_exchange(), but an exception from `check_while_meeting` keeps its type.
std::unique_ptr<Exchange> open_checked(const ExchangeOptions& options) {
  try {
    return open_exchange(options);
  } catch (const ExchangeError&) {
    options.check_while_meeting();
    throw;
  }
}

}  // namespace

std::optional<RankEnvironment> rank_of(const DecodeOptions& options) {
  if (!options.queue_file.empty()) return std::nullopt;
  const bool planned = !options.plan_file.empty();
  const bool for_ranks = planned && PlanFile(options.plan_file).has_ranks();
  if (planned && !for_ranks) return std::nullopt;
  std::optional<RankEnvironment> environment = rank_environment();
  if (for_ranks && !environment) {
    throw InputError(options.plan_file +
                     ": a plan for several ranks; start as many (torchrun --no-python --nproc-per-node N "
                     "headroom-decode …)");
  }
  if (environment && environment->ranks == 1 && !for_ranks) return std::nullopt;
  return environment;
}

void run_rank(const DecodeOptions& options, const RankEnvironment& environment, Notes& notes,
              const std::function<void(Prepared&)>& run) {
  refuse_given({{options.verify, "--verify"}, {!options.scratch_limit.empty(), "--scratch-limit"}},
               "not supported with several ranks");
  Prepared prepared;
  prepared.work->gpu = open_own_gpu(options, environment);
  const gpu::Gpu* gpu = prepared.work->gpu.get();
  ExchangeOptions how;
  how.ranks = environment;
  how.kind = kind_of(options, gpu);
  how.timeout_seconds = options.rank_timeout_seconds;
  // Load before the baseline below, so that memory growth while ranks connect excludes the module's own.
  load_exchange(how.kind);
  ResidentLimit limit = ResidentLimit::before_decode(bytes_of_files(options));
  // GPU ranks have no limit on host memory.
  if (gpu == nullptr) how.check_while_meeting = [&] { limit.check(); };
  if (environment.rank == 0) {
    notes.add(trust_note(environment));
    notes.say();
  }
  const std::unique_ptr<Exchange> exchange = open_checked(how);
  try {
    how.check_while_meeting();
    const Plans plans = prepare_rank(options, environment, *exchange, prepared, notes);
    WatchedExchange watched(*exchange, EventSink::none(), gpu == nullptr ? &limit : nullptr);
    agree_on(watched, options, plans, *prepared.work);
    take_part(options, plans, *exchange, limit, prepared);
    run(prepared);
  } catch (const std::exception& error) {
    exchange->abandon(error.what());
    throw;
  }
}

void print_ranks(const RunStats& stats, std::ostream& out) {
  for (size_t i = 0; i < stats.ranks.size(); ++i) {
    const RankStats& rank = stats.ranks[i];
    out << "rank " << i << ": latent rows " << rank.latent_rows.begin << " to " << rank.latent_rows.end
        << ", " << format_seconds(rank.seconds) << ", peak " << format_bytes(rank.peak_bytes)
        << " (predicted " << format_bytes(rank.predicted_peak_bytes) << ", limit "
        << format_bytes(rank.limit_bytes) << "), sent " << format_bytes(rank.sent_bytes) << "\n";
  }
}

}  // namespace headroom
