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
#include "decoder/base/os/unnamed_file.h"
#include "decoder/base/text_streams.h"
#include "decoder/exchange/exchange.h"
#include "decoder/exchange/open_exchange.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/latents/scale.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/plan_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/ranks.h"
#include "decoder/session/resident_limit.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "decoder/weights/open_weights.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/outputs.h"

namespace headroom {
namespace {

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// Hash of all values of all parameters. Reports progress to the other ranks, because reading may be slow.
uint64_t fingerprint_of(const Graph& graph, const ParameterSource& weights, Exchange& exchange) {
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
        exchange.working();
        print = fnv_hash(bytes_of(values), print);
      }
    }
  }
  return print;
}

/// Inputs of a decode by several ranks. All ranks must have the same ones.
struct RankedDecode {
  ChosenRanks chosen;
  Array latent;
  ParameterSource weights;
  const Plan& own(int32_t rank) const { return chosen.plan.plans[static_cast<size_t>(rank)]; }
};

RankedDecode decode_asked_for(const DecodeOptions& options, const RankEnvironment& environment,
                              const gpu::Gpu* gpu, Notes& progress) {
  const Model any_frames = open_model(options.model);
  RankedDecode asked;
  const auto open = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  GivenLatent given = open_latent(any_frames, open, options.latents.front(), options.latent_scale);
  asked.latent = std::move(given.array);
  if (environment.rank == 0) {
    progress.add(upcast_note(any_frames, options));
    progress.add(given.note);
  }
  if (options.plan_file.empty()) progress.tell(WorkDone{0, "planning"});
  asked.chosen = choose_ranks(options, any_frames, asked.latent, environment.ranks, gpu);
  const auto& [model, plan] = asked.chosen;
  const std::string origin = options.plan_file.empty() ? "--limit" : options.plan_file;
  if (static_cast<int32_t>(plan.plans.size()) != environment.ranks) {
    throw InputError(origin + ": expected a plan for the " + std::to_string(environment.ranks) +
                     " ranks that torchrun started, found one for " + std::to_string(plan.plans.size()));
  }
  require_valid(plan, model, origin);
  check_latent(model, asked.own(environment.rank), asked.latent);
  asked.weights = open();
  return asked;
}

/// Requires the same plan, latent and weights on all ranks. Throws ExchangeError otherwise.
void agree_on(Exchange& exchange, const DecodeOptions& options, const RankedDecode& asked) {
  const Graph& graph = asked.chosen.model.graph;
  const std::string weights_name = options.random_seed
                                       ? "seed " + std::to_string(*options.random_seed)
                                       : (options.weights.empty() ? options.model : options.weights);
  agree(exchange,
        {{"plan", to_json(asked.chosen.plan, graph).dump(), options.plan_file},
         {"latent", std::string(bytes_of(asked.latent.values)), options.latents.front()},
         {"weights", std::to_string(fingerprint_of(graph, asked.weights, exchange)), weights_name}});
}

/// Decodes this rank's rows, and on rank 0 writes the output. Records a trace with --trace.
RunStats run_rank(const DecodeOptions& options, const RankedDecode& asked, Exchange& exchange, gpu::Gpu* gpu,
                  const ResidentLimit& before, Progress& progress) {
  const auto& [model, plan] = asked.chosen;
  const Plan& own = asked.own(exchange.rank());
  const bool writes = exchange.rank() == 0;
  std::unique_ptr<PictureSink> output;
  if (writes) {
    output = open_output(options, picture_shape(model.graph, plan.request));
    RunBegun news = begun("headroom-decode", own);
    news.output = options.output;
    news.preview = options.preview_file;
    progress.tell(news);
  }
  start_libraries(options.threads);
  if (!options.other_environment)
    check_environment(own, environment_here(gpu),
                      options.plan_file.empty() ? options.profile_file : options.plan_file);
  std::optional<TraceRecorder> recorder;
  if (!options.trace_file.empty()) recorder.emplace(nullptr, bounds_of_rank(exchange.size()));
  ProgressEvents events(progress, recorder ? &*recorder : nullptr, &model.graph);
  ResidentLimit limit = ResidentLimit::of_decode(own.limit_bytes, recorder.has_value(), before);
  WatchedExchange watched(exchange, events, gpu == nullptr ? &limit : nullptr);
  std::optional<ReportedSink> sink;
  if (writes) sink.emplace(*output, events);
  RankedHooks hooks;
  if (sink) hooks.output = &*sink;
  hooks.events = &events;
  hooks.loading = [&](double share) {
    events.loading(share);
    exchange.working();
  };
  hooks.gpu = gpu;
  hooks.spool_folder =
      options.scratch.empty() ? folder_for_temporary_files() : std::filesystem::path(options.scratch);
  RunStats stats = decode(model, plan, asked.weights, asked.latent, watched, hooks);
  if (sink) stats.output_wait_seconds += sink->waited_seconds();
  if (recorder) write_rank_traces(exchange, {*recorder, own, model.graph, stats}, options.trace_file);
  return stats;
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
  const bool planned_for_gpu =
      !options.plan_file.empty() && !device_record(PlanFile(options.plan_file).request().device).is_host;
  if (!planned_for_gpu && !is_gpu(options.device)) return nullptr;
  if (is_gpu(options.device) && options.device->index != 0) {
    throw InputError("--device: each rank takes the GPU of its local rank: expected cuda, found " +
                     text_of(*options.device));
  }
  take_own_card(environment);
  return gpu::open_gpu();
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

std::optional<RunStats> run_ranks(const DecodeOptions& options, const RankEnvironment& environment,
                                  Notes& progress) {
  refuse_given({{options.verify, "--verify"}, {!options.scratch_limit.empty(), "--scratch-limit"}},
               "not supported with several ranks");
  const std::unique_ptr<gpu::Gpu> gpu = open_own_gpu(options, environment);
  ExchangeOptions how;
  how.ranks = environment;
  how.kind = kind_of(options, gpu.get());
  how.timeout_seconds = options.rank_timeout_seconds;
  // Load before the baseline below, so that memory growth while ranks connect excludes the module's own.
  load_exchange(how.kind);
  ResidentLimit limit = ResidentLimit::before_decode(bytes_of_files(options));
  // GPU ranks have no limit on host memory.
  if (gpu == nullptr) how.check_while_meeting = [&] { limit.check(); };
  if (environment.rank == 0) {
    progress.add(trust_note(environment));
    progress.say();
  }
  const std::unique_ptr<Exchange> exchange = open_checked(how);
  try {
    how.check_while_meeting();
    const RankedDecode asked = decode_asked_for(options, environment, gpu.get(), progress);
    WatchedExchange watched(*exchange, EventSink::none(), gpu == nullptr ? &limit : nullptr);
    agree_on(watched, options, asked);
    const RunStats stats = run_rank(options, asked, *exchange, gpu.get(), limit, progress);
    if (environment.rank == 0) return stats;
    return std::nullopt;
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
