#include "planner/program/commands.h"

#include <nlohmann/json.hpp>

#include "decoder/base/os/standard_streams.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "planner/answer/planner.h"
#include "planner/explain/peak.h"
#include "planner/program/request_options.h"
#include "planner/program/solve_ranks.h"
#include "planner/search/frontier.h"

namespace headroom::planner {

int frontier_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "Peak against time: the fastest plan under each of many limits, from the smallest that works to where "
      "more memory\n"
      "gains nothing. Every peak printed is a --limit under which headroom-plan finds that plan.\n\n"
      "Example:\n"
      "  headroom-plan frontier --model sdxl --size 1024x1024 -o frontier.json --csv frontier.csv",
      "headroom-plan frontier");
  RequestOptions asked;
  RankOptions ranks;
  std::string output, csv;
  size_t points = 32;
  bool json = false;
  asked.add_to(app);
  ranks.add_to(app,
               "instead: the fastest plan and the smallest limit for each number of ranks, such as 1,2,4,8");
  app.add_option("--points", points, "number of limits to try")->check(CLI::Range(size_t{2}, size_t{1000}));
  app.add_option("-o,--output", output, "write the frontier (JSON)");
  app.add_option("--csv", csv, "write the frontier as a table");
  app.add_flag("--json", json, "print JSON on standard output instead of the plot");
  if (!parse_arguments(app, args, out)) return kDone;

  if (!ranks.asked() && !ranks.link.empty()) throw InputError("--link: goes with --ranks");
  asked.check();
  if (ranks.asked()) {
    if (asked.direction != "decode")
      throw InputError("--direction encode: not with --ranks; one device encodes a picture");
    if (!output.empty() || !csv.empty())
      throw InputError("--ranks: prints a table, or with --json a document");
    if (app.count("--points") > 0) throw InputError("--points: not with --ranks");
    compare_ranks(asked, ranks, json, out);
    asked.say_dtype(asked.resolved_model(), err);
    return kDone;
  }
  const MadeFolders folders = prepare_outputs({{"-o", output}, {"--csv", csv}, {"--json", json ? "-" : ""}},
                                              {{"--profile", asked.profile_file}, {"--model", asked.model}});
  const Model model = asked.resolved_model();
  const Planner planner(model, asked.question(model, asked.picture_size()));
  const Request& request = planner.question().request;
  const std::vector<FrontierPoint> found = frontier(planner.problem(), points);
  const UntiledPeak untiled = untiled_peak(model, request, planner.costs());
  nlohmann::json document = to_json(found, request, planner.costs().assumed());
  document["untiled"] = to_json(untiled);
  if (!output.empty()) write_file_whole(output, document.dump(1) + "\n");
  if (!csv.empty()) write_file_whole(csv, frontier_csv(found));
  asked.say_dtype(model, err);
  message_stream({output, csv}, out, err)
      << (json ? document.dump(2) + "\n"
               : frontier_plot(found, request, terminal_width()) + untiled_line(untiled) + "\n");
  return kDone;
}

}  // namespace headroom::planner
