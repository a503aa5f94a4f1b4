#include "reports/program/run.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/progress/progress.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/devices/device_name.h"
#include "decoder/weights/open_model.h"
#include "reports/render/report.h"

namespace headroom::reports {
namespace {

constexpr const char* kDescription =
    "Write a report on Headroom's files: the peak and its cause, predicted and measured values, remedies.\n"
    "The files are plans, statistics, traces, profiles, recordings and frontiers, in any number. The\n"
    "report shows statistics and traces beside their plan, and compares several files of one kind. For\n"
    "a memory snapshot of PyTorch (.pickle) it shows the tensors at the peak and the memory that\n"
    "Headroom would need for --model and --size.\n\n"
    "Examples:\n"
    "  headroom-report plan.json stats.json trace.json profile.json -o report.html\n"
    "  headroom-report fast.json small.json -o comparison.md\n"
    "  headroom-report plan.json stats.json -o figures.csv --quick\n"
    "  headroom-report plan.json --json --model vae/\n"
    "  headroom-report snapshot.pickle -o report.html --model sdxl --size 1024x1024 --dtype fp16 --device "
    "cuda";

/// Parsed command line. No file has been read yet.
struct Arguments {
  std::vector<std::string> files;
  std::string output, model, limit, title;
  // Request to plan, for comparison with a memory history.
  std::string size, dtype, device, recorded_device;
  int64_t frames = 1, batch = 1;
  std::vector<std::string> of_recorded;  ///< given options that apply to PyTorch's files
  bool json = false, quick = false;
  ProgressOptions progress;
};

bool parse(const std::vector<std::string>& args, std::ostream& out, Arguments& asked) {
  CLI::App app(kDescription, "headroom-report");
  app.add_option("files", asked.files,
                 "plan, stats, trace, profile, recording and frontier files; memory snapshots of PyTorch "
                 "(.pickle)")
      ->required();
  app.add_option("-o,--output", asked.output,
                 "the report: .html, one page with charts; .md, the same without charts, also for -; .csv, "
                 "all tables as one");
  app.add_option(
      "--model", asked.model,
      "the model's folder, if the name in the plan does not lead to it; for a PyTorch snapshot: the decoder "
      "to compare with");
  app.add_option("--size", asked.size, "for a PyTorch snapshot: the picture size, WIDTHxHEIGHT");
  app.add_option("--frames", asked.frames, "for a PyTorch snapshot: frames of a clip")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--batch", asked.batch, "for a PyTorch snapshot: pictures in the latent")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  app.add_option("--dtype", asked.dtype, kDtypeHelp);
  app.add_option("--device", asked.device, "for a PyTorch snapshot: cpu, or cuda for a GPU's memory");
  app.add_option(
      "--recorded-device", asked.recorded_device,
      "for a PyTorch snapshot: the device to show, such as cuda:1; all by default. The comparison with "
      "Headroom takes the device that ran out of memory, or else the one with the largest peak");
  app.add_option("--limit", asked.limit,
                 "limit for the charts and for what fits it, such as 8GiB; by default the plan's, or the "
                 "memory that a snapshot's device had");
  app.add_option("--title", asked.title, "the report's title");
  app.add_flag("--json", asked.json, "print sentences and tables as JSON on standard output");
  app.add_flag(
      "--quick", asked.quick,
      "faster: leave out what needs the planner's search, such as smallest limits, remedies and other "
      "picture sizes");
  add_progress_options(app, asked.progress);
  if (!parse_arguments(app, args, out)) return false;
  for (const char* option : {"--size", "--frames", "--batch", "--dtype", "--device", "--recorded-device"}) {
    if (app.count(option) > 0) asked.of_recorded.emplace_back(option);
  }
  return true;
}

/// The decoder to compare with a recording. None without --size.
std::optional<AskedDecoder> asked_decoder(const Arguments& asked, std::ostream& err) {
  if (asked.size.empty()) return std::nullopt;
  if (asked.model.empty()) throw InputError("--size: expected --model beside it");
  const Model model = for_frames(open_model(asked.model), asked.frames);
  const auto [width, height] = parse_size(asked.size, "--size");
  latent_extent(model, width, height, asked.frames);
  const Dtype dtype = parse_dtype(asked.dtype.empty() ? "fp32" : asked.dtype, "--dtype");
  if (const std::string note = upcast_note(model, dtype); !note.empty())
    err << "headroom-report: " << note << "\n";
  return AskedDecoder{model,
                      {asked.model, width, height, asked.frames, asked.batch, decoding_dtype(model, dtype),
                       parse_device_name(asked.device.empty() ? "cpu" : asked.device).kind}};
}

bool is_recorded(const DocumentPtr& document) {
  return document->as<profiler::MemoryHistory>() != nullptr;
}

/// The model files named by plans, which are input files too.
std::vector<NamedFile> models_of(const std::vector<DocumentPtr>& documents) {
  std::vector<NamedFile> models;
  const auto add = [&](const Document& document) {
    if (const auto* plan = document.as<PlanDocument>()) models.push_back({"--model", plan->model_argument});
  };
  for (const DocumentPtr& document : documents) {
    add(*document);
    for (const DocumentPtr& rank : document->ranks) add(*rank);
  }
  return models;
}

/// Rejects options that none of these files uses. Throws InputError.
void check_options_of(const Arguments& asked, const std::vector<DocumentPtr>& documents) {
  const bool recorded = std::any_of(documents.begin(), documents.end(), is_recorded);
  const bool planned = std::any_of(documents.begin(), documents.end(), [](const DocumentPtr& document) {
    return document->as<PlanDocument>() != nullptr || document->as<Plans>() != nullptr;
  });
  constexpr const char* kRecorded = "a memory snapshot of PyTorch";
  for (const std::string& option : asked.of_recorded) {
    if (!recorded) throw InputError(option + ": goes with " + kRecorded);
    if (asked.size.empty() && option != "--recorded-device")
      throw InputError(option + ": expected --size beside it");
  }
  if (!asked.model.empty() && !recorded && !planned)
    throw InputError(std::string("--model: goes with a plan, ") + kRecorded);
  if (!asked.model.empty() && asked.size.empty() && !planned)
    throw InputError("--model: expected --size beside it");
}

using Writer = std::string (*)(const Report&);

/// Chooses the format by the output's suffix: Markdown for a stream without one. Throws InputError for other
/// suffixes. Call it before the report is built.
Writer writer_of(const std::filesystem::path& output) {
  const std::string suffix = output.extension().string();
  if (suffix.empty() && is_stream(output)) return to_markdown;
  if (suffix != ".html" && suffix != ".md" && suffix != ".csv") {
    throw InputError("-o " + output.string() + ": expected a name that ends in .html, .md or .csv");
  }
  return suffix == ".html" ? to_html : suffix == ".md" ? to_markdown : to_long_csv;
}

/// Final message, such as "report.html: 3 files, 12 figures".
std::string done_line(const std::string& output, const Report& report) {
  const auto tables = static_cast<int64_t>(count_tables(report));
  const std::string shown =
      output.ends_with(".html")
          ? counted(tables + static_cast<int64_t>(count_charts(report)), "figure", "figures")
          : counted(tables, "table", "tables");
  return one_line(output) + ": " + counted(static_cast<int64_t>(report.files), "file", "files") + ", " +
         shown + "\n";
}

int report(const Arguments& asked, std::ostream& out, std::ostream& err) {
  if (asked.output.empty() && !asked.json)
    throw InputError("--output or --json is required (try headroom-report --help)");
  const Writer write = asked.output.empty() ? nullptr : writer_of(asked.output);
  std::vector<NamedFile> inputs{{"--model", asked.model}};
  for (const std::string& file : asked.files) inputs.push_back({"the file", file});
  const MadeFolders folders =
      prepare_outputs({{"-o", asked.output}, {"--json", asked.json ? "-" : ""}}, inputs);
  ReportOptions options;
  options.title = asked.title;
  options.quick = asked.quick;
  options.decoder = asked_decoder(asked, err);
  options.recorded_device = asked.recorded_device;
  if (!asked.limit.empty()) options.limit_bytes = parse_bytes(asked.limit, "--limit");
  const std::unique_ptr<Progress> progress = make_progress(asked.progress, err);
  const WipedProgress wiped(*progress);
  options.progress = [&](double share, const std::string& what) { progress->tell(WorkDone{share, what}); };
  std::vector<DocumentPtr> documents;
  for (const std::string& file : asked.files) documents.push_back(read_document(file, asked.model));
  require_apart({{"-o", asked.output}}, models_of(documents));
  check_options_of(asked, documents);
  const Report made = make_report(documents, options);
  progress->wipe();
  if (write != nullptr) {
    write_file_whole(asked.output, write(made));
    (asked.json ? err : message_stream({asked.output}, out, err)) << done_line(asked.output, made);
  }
  if (asked.json) out << to_json(made).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  return kDone;
}

}  // namespace

int run_report(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return guarded("headroom-report", out, err, [&] {
    Arguments asked;
    return parse(args, out, asked) ? report(asked, out, err) : static_cast<int>(kDone);
  });
}

}  // namespace headroom::reports
