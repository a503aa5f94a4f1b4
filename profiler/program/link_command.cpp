#include "profiler/program/link_command.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/exchange/open_exchange.h"
#include "profiler/measure/link.h"

namespace headroom::profiler {
namespace {

struct LinkOptions {
  double timeout_seconds = 30;
  bool json = false;
};

bool parse_link(const std::vector<std::string>& args, std::ostream& out, LinkOptions& options) {
  CLI::App app(
      "Measure what messages between neighbouring ranks take, for headroom-plan --link.\n\n"
      "Example:\n"
      "  torchrun --no-python --nproc-per-node 4 headroom-profile link",
      "headroom-profile link");
  app.add_option("--rank-timeout", options.timeout_seconds,
                 "stop all ranks if one does not respond for this many seconds; 30 by default")
      ->check(CLI::Range(0.1, 86'400.0));
  app.add_flag("--json", options.json, "print bytes_per_second and seconds as JSON");
  return parse_arguments(app, args, out);
}

/// Formats the link for --link.
std::string link_text(const Link& link) {
  TextWriter text;
  text.precision(3);
  text << link.bytes_per_second / 1e9 << "GB," << link.seconds;
  return text.str();
}

}  // namespace

int run_link(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  LinkOptions options;
  if (!parse_link(args, out, options)) return kDone;
  const std::optional<RankEnvironment> environment = rank_environment();
  if (!environment || environment->ranks < 2) {
    throw InputError(
        "link: expected two ranks or more; start them (torchrun --no-python --nproc-per-node N "
        "headroom-profile link)");
  }
  ExchangeOptions how;
  how.ranks = *environment;
  how.timeout_seconds = options.timeout_seconds;
  if (environment->rank == 0) err << "headroom-profile: " << one_line(trust_note(*environment)) << std::endl;
  const std::unique_ptr<Exchange> exchange = open_exchange(how);
  const Link link = measure_link(*exchange);
  if (exchange->rank() > 0) return kDone;
  if (options.json) {
    out << nlohmann::json{{"bytes_per_second", link.bytes_per_second}, {"seconds", link.seconds}}.dump(2)
        << "\n";
  } else {
    out << exchange->size() << " ranks: " << format_bytes(static_cast<int64_t>(link.bytes_per_second))
        << "/s from a rank to each neighbour, " << format_seconds(link.seconds)
        << " until the first byte; headroom-plan --link " << link_text(link) << "\n";
  }
  return kDone;
}

}  // namespace headroom::profiler
