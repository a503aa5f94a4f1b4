#include "planner/decode_program/run.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/progress/progress.h"
#include "decoder/base/text.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/files/latent_file.h"
#include "decoder/plan/stats_file.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/outputs.h"
#include "planner/decode_program/prepared.h"
#include "planner/decode_program/ranks.h"
#include "planner/decode_program/stream_run.h"

namespace headroom {
namespace {

constexpr const char* kProgram = "headroom-decode";

/// A run that is over.
struct Done {
  RunStats stats;
  std::string subject;
  bool had_jobs = true;
  std::vector<MadeFolders> folders{};
};

Done run_prepared(const SharedOptions& options, Prepared& prepared, Notes& notes) {
  RunOptions& how = prepared.options;
  how.begun.program = kProgram;
  how.begun.output = options.output;
  how.threads = options.threads;
  how.other_environment = options.other_environment;
  RunStats stats = run(*prepared.work, how, notes);
  return {std::move(stats), std::move(prepared.subject), !prepared.work->jobs.empty(),
          std::move(prepared.folders)};
}

/// A verb of the program. `prepare_files` comes first.
struct Verb {
  const SharedOptions& options;
  std::function<std::vector<MadeFolders>()> prepare_files;
  std::function<Done(Notes&)> run;
  std::vector<std::string> outputs{};  ///< files that may be standard output
  /// Called before `run`, with progress in place for errors. False if this process prints nothing.
  std::function<bool()> prints = [] { return true; };
};

void print_results(const Verb& verb, const Done& done, std::ostream& out) {
  if (verb.options.json) {
    out << to_json(done.stats).dump(2) << "\n";
  } else if (!done.had_jobs) {
    out << one_line(done.subject) << "\n";
  } else {
    print_summary(done.stats, done.subject, out);
    print_ranks(done.stats, out);
  }
}

void carry_out(const Verb& verb, std::unique_ptr<Progress>& progress, RunEnded& ended, std::ostream& out,
               std::ostream& err) {
  const std::vector<MadeFolders> folders = verb.prepare_files();
  progress = make_progress(verb.options.progress, err);
  const bool prints = verb.prints();
  if (!prints) progress = make_progress({.quiet = true}, err);
  const WipedProgress wiped(*progress);
  Notes notes(*progress, err);
  const Done done = verb.run(notes);
  if (!prints) return;
  notes.say();
  if (!verb.options.stats_file.empty()) write_stats(verb.options.stats_file, done.stats);
  progress->wipe();
  print_results(verb, done, message_stream(verb.outputs, out, err));
  ended.peak_bytes = done.stats.peak_bytes;
  ended.decode_seconds = done.stats.seconds;
}

/// Prepares the outputs' folders. Outputs of a queue are prepared after it has been read (queue_jobs.cpp).
std::vector<MadeFolders> folders_of(const DecodeOptions& options) {
  std::vector<NamedFile> outputs = files_beside(options);
  if (options.queue_file.empty()) outputs.push_back({"-o", options.output, true});
  std::vector<MadeFolders> folders;
  folders.push_back(prepare_outputs(outputs, files_read(options)));
  if (!options.queue_file.empty()) folders.push_back(make_output_folder(options.output));
  return folders;
}

std::vector<MadeFolders> folders_of(const EncodeOptions& options) {
  std::vector<NamedFile> outputs{{"--stats", options.stats_file}, {"--json", options.json ? "-" : ""}};
  if (options.pictures.empty()) outputs.push_back({"-o", options.output});
  std::vector<MadeFolders> folders;
  folders.push_back(prepare_outputs(outputs, {{"--picture", latent_file_of(options.picture)},
                                              {"--plan", options.plan_file},
                                              {"--profile", options.profile_file},
                                              {"--model", options.model},
                                              {"--weights", options.weights}}));
  if (options.pictures.empty()) return folders;
  if (const std::error_code error = folders.emplace_back().make(options.output))
    throw InputError("-o " + printable(options.output) + ": " + error.message());
  return folders;
}

using CarryOut = std::function<void(const Verb&)>;

void decode_verb(const DecodeOptions& options, const CarryOut& carry) {
  std::optional<RankEnvironment> rank;
  carry({options,
         [&] { return folders_of(options); },
         [&](Notes& notes) {
           Done done;
           const auto run = [&](Prepared& prepared) { done = run_prepared(options, prepared, notes); };
           if (rank) {
             run_rank(options, *rank, notes, run);
           } else {
             Prepared prepared =
                 options.queue_file.empty() ? prepare_decode(options, notes) : prepare_queue(options, notes);
             run(prepared);
           }
           return done;
         },
         {options.output, options.stats_file, options.trace_file},
         [&] {
           rank = rank_of(options);
           return !rank || rank->rank == 0;
         }});
}

void encode_verb(const EncodeOptions& options, const CarryOut& carry) {
  carry({options,
         [&] { return folders_of(options); },
         [&](Notes& notes) {
           Prepared prepared = prepare_encode(options, notes);
           return run_prepared(options, prepared, notes);
         },
         {options.stats_file}});
}

void stream_verb(const StreamOptions& options, const CarryOut& carry) {
  carry({options,
         [&] {
           std::vector<MadeFolders> none;
           none.push_back(
               prepare_outputs({{"standard output", "-", true}}, {{"--profile", options.profile_file},
                                                                  {"--model", options.model},
                                                                  {"--weights", options.weights}}));
           return none;
         },
         [&](Notes& notes) {
           return Done{.stats = {}, .subject = run_stream(options, notes), .had_jobs = false};
         },
         {options.output}});
}

/// True if the arguments begin with this command.
bool asks_for(const Command& command, const std::vector<std::string>& args) {
  return !args.empty() && args.front() == command.name;
}

}  // namespace

int run_decode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::unique_ptr<Progress> progress;
  RunEnded ended;
  const CarryOut carry = [&](const Verb& verb) { carry_out(verb, progress, ended, out, err); };
  ended.exit_code = guarded(kProgram, out, err, [&] {
    if (asks_for(kEncode, args)) {
      if (const auto options = parse_encode_options({args.begin() + 1, args.end()}, out))
        encode_verb(*options, carry);
    } else if (asks_for(kStream, args)) {
      if (const auto options = parse_stream_options({args.begin() + 1, args.end()}, out))
        stream_verb(*options, carry);
    } else if (const auto options = parse_decode_options(args, out)) {
      decode_verb(*options, carry);
    }
    return static_cast<int>(kDone);
  });
  if (progress) progress->tell(ended);
  return ended.exit_code;
}

}  // namespace headroom
