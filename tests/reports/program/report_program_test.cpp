#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "planner/program/run.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/document.h"
#include "reports/figures/unit.h"
#include "reports/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"
#include "tests/reports/render/page_reader.h"
#include "tests/support/program.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::Element;
using test::Ended;
using test::joined;
using test::PageReader;
using test::PageTable;
using test::require_refused;
using test::Scratch;
using test::Words;

/// Files of one decode of a tiny model, all of it made up but the plan and the frontier.
struct Files {
  Scratch scratch;
  std::string model, plan, stats, trace, profile, frontier;
  PlanDocument planned;
  RunStats ran;

  explicit Files(const std::string& size = "64x48", const std::string& model_name = "model") {
    std::filesystem::create_directories(scratch / model_name);
    model = scratch.write(model_name + "/config.json", test::tiny_config().dump()).parent_path().string();
    plan = (scratch / "plan.json").string();
    frontier = (scratch / "frontier.json").string();
    REQUIRE(
        call(planner::run_plan, {"--model", model, "--size", size, "--limit", "12MiB", "-o", plan}).code ==
        0);
    REQUIRE(call(planner::run_plan,
                 {"frontier", "--model", model, "--size", size, "--points", "5", "-o", frontier})
                .code == 0);
    planned = *read_document(plan)->as<PlanDocument>();
    ran = run_with_figures_of_its_own();
    stats = (scratch / "stats.json").string();
    write_stats(stats, ran);
    trace = (scratch / "trace.json").string();
    write_trace(trace, recorded(), planned.plan, planned.model.graph);
    profile = scratch.write("profile.json", to_json(profiled()).dump()).string();
  }

  RunStats run_with_figures_of_its_own() const {
    RunStats stats_of_run = test::run_as_predicted(planned.plan);
    for (size_t i = 0; i < stats_of_run.passes.size(); ++i) {
      stats_of_run.passes[i].peak_bytes -= 1000 * static_cast<int64_t>(i) + 7;
      stats_of_run.passes[i].seconds *= 1.0 + 1.0 / (double(i) + 3);
    }
    stats_of_run.peak_bytes -= 12345;
    stats_of_run.seconds *= 1.25;
    stats_of_run.verification = Verification{"the untiled decode", 1e-6, 2.5e-7, 4, 140};
    return stats_of_run;
  }

  /// Weights, then a tile in each pass.
  Trace recorded() const {
    Trace made;
    made.model = model;
    made.device = "two cores";
    made.libraries = "LibTorch";
    made.limit_bytes = planned.plan.limit_bytes;
    made.events = {{.seconds = 0, .bytes = 1 << 20, .kind = MemoryKind::weights}};
    const TensorId tensor = planned.model.graph.latent();
    double seconds = 0;
    for (size_t pass = 0; pass < planned.plan.passes.size(); ++pass, seconds += 1) {
      const auto number = static_cast<int32_t>(pass);
      const int64_t bytes = 4096 * (1 + static_cast<int64_t>(pass));
      made.events.push_back({seconds + 0.25, bytes, 0, number, tensor, MemoryKind::tile});
      made.events.push_back({seconds + 0.75, -bytes, 0, number, tensor, MemoryKind::tile});
      made.passes.push_back({.begin_seconds = seconds, .end_seconds = seconds + 1, .pass = number});
    }
    made.seconds = seconds;
    return made;
  }

  /// With a latency table, which files of version 2 have.
  static profiler::Profile profiled() {
    profiler::Profile made = test::made_up_profile();
    made.threads = 2;
    made.weights_source = "random";
    made.latency_tables = {{"law", {1, 8}, {8}, {1e-3, 2e-3}, {0, 64}}, {"sum", {1}, {1}, {1e-3}, {0}}};
    return made;
  }

  /// A trace of a GPU, of the same plan.
  std::string gpu_trace() const {
    const std::string file = output("gpu_trace.json");
    write_trace(file, test::gpu_trace(planned.plan), planned.plan, planned.model.graph);
    return file;
  }

  Words all() const { return {plan, stats, trace, profile, frontier}; }
  std::string output(const std::string& name) const { return (scratch / name).string(); }
};

std::unique_ptr<Element> page_of(const Files& files, const Words& words) {
  const std::string file = files.output("report.html");
  const Ended ended = call(run_report, joined(words, {"-o", file}));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(std::count(ended.out.begin(), ended.out.end(), '\n') == 1);
  return PageReader::read(test::read_bytes(file));
}

std::vector<std::string> sections_of(const Element& page) {
  std::vector<std::string> titles;
  for (const Element* head : page.all("h2")) titles.push_back(head->own_text);
  return titles;
}

json json_of(const Files&, const Words& words) {
  const Ended ended = call(run_report, joined(words, {"--json"}));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return json::parse(ended.out);
}

std::string sentences_of(const json& report) {
  std::string all;
  for (const json& part : report["sections"][0]["parts"]) {
    for (const json& sentence : part["sentences"]) all += sentence.get<std::string>() + "\n";
  }
  return all;
}

TEST_CASE("report: a page of one run has all sections in order, and the figures of its files") {
  const Files files;
  const auto page = page_of(files, files.all());
  CHECK(sections_of(*page) == std::vector<std::string>{"Summary", "Memory over time", "What decided the peak",
                                                       "Predicted against measured",
                                                       "Kept tensors and the passes that use them", "Layers",
                                                       "Peak against resolution", "Peak against time",
                                                       "Environment", "Files"});
  CHECK(page->first("h1").own_text == "Headroom: " + files.model + " 64×48 fp32");
  const std::vector<PageTable> tables = test::tables_of(*page);

  // Every pass of the plan and of the run.
  const Plan& plan = files.planned.plan;
  const PageTable& passes = test::table_named(tables, "Passes, predicted and measured");
  REQUIRE(passes.rows.size() == plan.passes.size());
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    CAPTURE(i);
    const PassStats& measured = files.ran.passes[i];
    CHECK(passes.text(i, "name") == plan.passes[i].name);
    CHECK(passes.value(i, "predicted", 0) == double(plan.passes[i].predicted_peak_bytes));
    CHECK(passes.value(i, "measured", 0) == double(measured.peak_bytes));
    CHECK(passes.value(i, "ratio", 0) == double(measured.peak_bytes) / double(measured.predicted_peak_bytes));
    CHECK(passes.value(i, "predicted", 1) == plan.passes[i].predicted_seconds);
    CHECK(passes.value(i, "measured", 1) == measured.seconds);
    CHECK(passes.value(i, "ratio", 1) == measured.seconds / measured.predicted_seconds);
    CHECK(passes.value(i, "work") == plan.passes[i].predicted_flops);
  }
  const PageTable& run = test::table_named(tables, "Runs");
  REQUIRE(run.rows.size() == 1);
  CHECK(run.value(0, "limit") == 12 * 1048576);
  CHECK(run.value(0, "predicted", 0) == double(plan.predicted_peak_bytes));
  CHECK(run.value(0, "measured", 0) == double(files.ran.peak_bytes));
  CHECK(run.value(0, "predicted", 1) == plan.predicted_seconds);
  CHECK(run.value(0, "measured", 1) == files.ran.seconds);

  // What was on the device adds up to the peak.
  for (const char* which : {"On the device at the predicted peak", "On the device at the measured peak"}) {
    const PageTable& live = test::table_named(tables, which);
    double sum = 0, shares = 0;
    for (size_t row = 0; row < live.rows.size(); ++row) {
      sum += live.value(row, "memory");
      shares += live.value(row, "share");
    }
    CHECK(shares == Approx(1));
    if (std::string(which).find("measured") != std::string::npos)
      CHECK(sum == double((1 << 20) + 4096 * static_cast<int64_t>(plan.passes.size())));
  }

  // Materialised tensors, layers, frontier, files.
  const PageTable& materialised = test::table_named(tables, "Kept tensors");
  REQUIRE(materialised.rows.size() == plan.materialised.size());
  std::set<std::string> names, expected;
  for (size_t row = 0; row < materialised.rows.size(); ++row) names.insert(materialised.text(row, "tensor"));
  for (const Materialised& entry : plan.materialised)
    expected.insert(files.planned.model.graph.tensor(entry.tensor).name);
  CHECK(names == expected);
  const profiler::Profile profile = Files::profiled();
  const PageTable& layers = test::table_named(tables, "Layers of small");
  REQUIRE(layers.rows.size() == profile.layers.size());
  for (size_t row = 0; row < layers.rows.size(); ++row) {
    for (size_t size = 0; size < 2; ++size) {
      const profiler::LayerMeasurement& measured = profile.layers[row].sizes[size];
      CHECK(layers.value(row, "activation", size) == double(measured.activation_bytes));
      CHECK(layers.value(row, "workspace", size) == double(measured.workspace_bytes));
      CHECK(layers.value(row, "live", size) == double(measured.live_bytes));
      CHECK(layers.value(row, "time", size) == measured.seconds);
    }
  }
  const FrontierDocument frontier = *read_document(files.frontier)->as<FrontierDocument>();
  const PageTable& points = test::table_named(tables, "Peak against time");
  REQUIRE(points.rows.size() == frontier.points.size());
  for (size_t row = 0; row < points.rows.size(); ++row) {
    CHECK(points.value(row, "peak") == double(frontier.points[row].peak_bytes));
    CHECK(points.value(row, "time") == frontier.points[row].seconds);
  }
  const PageTable& listed = test::table_named(tables, "Files of this report");
  REQUIRE(listed.rows.size() == 5);
  for (size_t row = 0; row < 5; ++row) {
    CHECK(listed.text(row, "file") == files.all()[row]);
    CHECK(listed.text(row, "summary") == summary(*read_document(files.all()[row])));
  }

  // Predicted and measured memory are drawn over the same axes: these end at the same time.
  std::set<std::string> last_ticks;
  for (const Element* svg : page->first("main").all("section")[1]->all("svg")) {
    std::string last;
    for (const Element* text : svg->all("text")) {
      if (text->attribute("class") == "tick" && text->own_text.ends_with(" s")) last = text->own_text;
    }
    last_ticks.insert(last);
  }
  CHECK(last_ticks.size() == 1);
  CHECK(page->first("main").all("section")[1]->all("svg").size() == 2);
}

TEST_CASE("report: the summary says in words what the files say in figures") {
  const Files files;
  const std::string words = sentences_of(json_of(files, files.all()));
  const Plan& plan = files.planned.plan;
  const auto bytes = [](int64_t count) { return format(Unit::bytes, double(count)); };
  CHECK_THAT(words, Catch::Contains("planned to take " + bytes(plan.predicted_peak_bytes)));
  CHECK_THAT(words, Catch::Contains("it fits the limit of 12.0 MiB with " +
                                    bytes(plan.limit_bytes - plan.predicted_peak_bytes) + " to spare"));
  CHECK_THAT(words, Catch::Contains("decides the peak: while it runs"));
  CHECK_THAT(words, Catch::Contains("took " + bytes(files.ran.peak_bytes) + ", 12.1 KiB ("));
  CHECK_THAT(words, Catch::Contains("less than predicted, and " + format(Unit::seconds, files.ran.seconds)));
  CHECK_THAT(words, Catch::Contains("(25 %) more than predicted"));
  CHECK_THAT(words, Catch::Contains("smallest limit that this request fits as it is"));
  CHECK_THAT(words,
             Catch::Contains("Within 12.0 MiB the largest picture of " + files.model + " in fp32 has "));
  CHECK_THAT(words, Catch::Contains(
                        "Untiled, small at 512×384 in fp32 took 87.9 KiB and 2.50 s; c ran at the peak"));
  CHECK_THAT(words, Catch::Contains("compared with the untiled decode: the largest error is 2.5e-07 of the "
                                    "largest value, PSNR 140 dB."));
}

TEST_CASE("report: the same tables as Markdown, CSV and JSON, and nothing else for stdout") {
  const Files files;
  const json report = json_of(files, files.all());
  const Ended csv = call(run_report, joined(files.all(), {"-o", files.output("figures.csv")}));
  CHECK(csv.code == 0);
  size_t tables = 0, cells = 0;
  for (const json& section : report["sections"]) {
    for (const json& part : section["parts"]) {
      tables += part["tables"].size();
      for (const json& table : part["tables"]) {
        for (const json& row : table["rows"]) {
          CHECK(row.size() == table["columns"].size());
          for (const json& cell : row) cells += !cell.is_null();
        }
      }
    }
  }
  CHECK(csv.out == files.output("figures.csv") + ": 5 files, " + std::to_string(tables) + " tables\n");
  const std::string text = test::read_bytes(files.output("figures.csv"));
  CHECK(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == cells + 1);
  CHECK_THAT(text, Catch::Contains(
                       "\"Predicted against measured: Passes, predicted and measured\",0,peak measured," +
                       std::to_string(files.ran.passes[0].peak_bytes) + ",bytes\r\n"));

  REQUIRE(
      call(run_report, joined(files.all(), {"-o", files.output("report.md"), "--title", "A | title"})).code ==
      0);
  const std::string markdown = test::read_bytes(files.output("report.md"));
  CHECK(markdown.starts_with("# A \\| title\n"));
  CHECK_THAT(markdown, Catch::Contains("**Passes, predicted and measured**"));

  // Both at once: JSON alone on standard output.
  const Ended both = call(run_report, joined(files.all(), {"--json", "-o", files.output("report.html")}));
  CHECK(json::parse(both.out) == report);
  CHECK_THAT(both.err, Catch::StartsWith(files.output("report.html") + ": 5 files, "));
  const auto page = PageReader::read(test::read_bytes(files.output("report.html")));
  CHECK_THAT(both.err,
             Catch::Contains(" " + std::to_string(tables + page->all("svg").size()) + " figures\n"));
}

TEST_CASE("report: what each file alone shows") {
  const Files files;
  const auto sections = [&](const Words& words) { return sections_of(*page_of(files, words)); };
  CHECK(sections({files.plan, "--quick"}) ==
        std::vector<std::string>{"Summary", "Memory over time", "What decided the peak", "Passes",
                                 "Kept tensors and the passes that use them", "Environment", "Files"});
  CHECK(sections({files.stats}) ==
        std::vector<std::string>{"Summary", "Predicted against measured", "Environment", "Files"});
  CHECK(sections({files.trace}) ==
        std::vector<std::string>{"Memory over time", "What decided the peak", "Environment", "Files"});
  CHECK(sections({files.profile}) ==
        std::vector<std::string>{"Summary", "Layers", "Peak against resolution", "Environment", "Files"});
  CHECK(sections({files.frontier}) ==
        std::vector<std::string>{"Summary", "Peak against time", "Environment", "Files"});
}

TEST_CASE("report: runs are set beside the plans that they belong to, in whatever order the files come") {
  const Files files;
  const auto runs_of = [&](const Words& words) {
    std::vector<std::string> headings;
    const json report = json_of(files, joined(words, {"--quick"}));
    for (const json& section : report["sections"]) {
      if (section["title"] != "Predicted against measured") continue;
      for (const json& part : section["parts"]) headings.push_back(part["heading"]);
    }
    return headings;
  };
  CHECK(runs_of({files.trace, files.stats, files.plan}) == std::vector<std::string>{"", ""});

  // A run of another plan stands alone.
  RunStats foreign = files.ran;
  foreign.limit_bytes += 1;
  const std::string other = files.output("other.json");
  write_stats(other, foreign);
  CHECK(runs_of({files.plan, other, files.stats}) ==
        std::vector<std::string>{"", files.plan + ", " + files.stats, other});

  // A second run of one plan: its passes beside the same predictions, the plan's own figures once.
  const std::string again = files.output("again.json");
  write_stats(again, files.ran);
  const json report = json_of(files, {files.plan, files.stats, again, "--quick"});
  for (const json& section : report["sections"]) {
    if (section["title"] == "Kept tensors and the passes that use them") CHECK(section["parts"].size() == 1);
    if (section["title"] == "Predicted against measured") CHECK(section["parts"].size() == 3);
    if (section["title"] == "Comparison")
      CHECK(section["parts"][0]["sentences"] == std::vector<std::string>{"They do not differ."});
  }
}

TEST_CASE("report: files of one kind are compared, the first with each other one") {
  const Files files;
  RunStats slower = files.ran;
  slower.passes[0].seconds *= 8;
  const std::string other = files.output("slower.json"), third = files.output("third.json");
  write_stats(other, slower);
  write_stats(third, slower);
  const auto page = page_of(files, {files.stats, other, third});
  std::vector<std::string> headings;
  for (const Element* head : page->all("h3")) headings.push_back(head->own_text);
  CHECK(std::count(headings.begin(), headings.end(), files.stats + " and " + other) == 1);
  CHECK(std::count(headings.begin(), headings.end(), files.stats + " and " + third) == 1);
  bool found = false;
  for (const PageTable& table : test::tables_of(*page)) {
    if (table.heads.back() != "ratio" || table.caption.find("Time") != 0) continue;
    found = true;
    CHECK(table.value(0, "ratio") == Approx(8));
  }
  CHECK(found);
}

TEST_CASE("report: a queue's decodes one by one") {
  const Scratch scratch;
  RunStats stats;
  stats.limit_bytes = 64 << 20;
  stats.predicted_peak_bytes = 60 << 20;
  stats.peak_bytes = 50 << 20;
  stats.predicted_seconds = stats.seconds = 3;
  stats.scratch_written_bytes = 12345;
  stats.queue = QueueStats{{{"large", 0, 0, 0, 2, 50 << 20, 49 << 20, 70 << 20, 1 << 20},
                            {"small", 1, 3, 1, 1, 20 << 20, 19 << 20, 71 << 20, 0}},
                           20 << 20,
                           1,
                           4096,
                           8192};
  write_stats(scratch / "queue.json", stats);
  const Ended ended = call(run_report, {(scratch / "queue.json").string(), "--json"});
  REQUIRE(ended.code == 0);
  const json report = json::parse(ended.out);
  CHECK_THAT(sentences_of(report),
             Catch::Contains("2 decodes ran in one process; the pool grew by 4.0 KiB after the first one"));
  const json& parts = report["sections"][1]["parts"];
  CHECK(parts[0]["tables"][1]["title"] == "Scratch files");
  CHECK(parts[0]["tables"][1]["rows"][0][1] == 12345);
  const json& decodes = parts[1]["tables"][0];
  CHECK(decodes["title"] == "Decodes of the queue");
  CHECK(decodes["rows"] == json{{"large", 0, 50 << 20, 49 << 20, 70 << 20, 1 << 20, 2},
                                {"small", 3, 20 << 20, 19 << 20, 71 << 20, 0, 1}});
  CHECK(decodes["stand_out"] == json{0});
}

/// Of all tables of a report.
const json& table_titled(const json& report, const std::string& title) {
  for (const json& section : report["sections"]) {
    for (const json& part : section["parts"]) {
      for (const json& table : part["tables"]) {
        if (table["title"] == title) return table;
      }
    }
  }
  throw std::runtime_error("no table " + title);
}

TEST_CASE("report: a GPU's trace says what was on the GPU, what it did and who watched") {
  const Files files;
  const std::string trace = files.gpu_trace();
  const auto passes = double(files.planned.plan.passes.size());
  const auto page = page_of(files, {files.plan, trace, "--quick"});
  CHECK(sections_of(*page) == std::vector<std::string>{"Summary", "Memory over time", "What decided the peak",
                                                       "Passes", "What the GPU did",
                                                       "Kept tensors and the passes that use them",
                                                       "Environment", "Files"});
  CHECK(sections_of(*page_of(files, {trace})) ==
        std::vector<std::string>{"Memory over time", "What decided the peak", "What the GPU did",
                                 "Environment", "Files"});
  // The measured drawing has the GPU's kinds, and the driver's count as a line over them.
  const auto drawings = page->first("main").all("section")[1]->all("svg");
  REQUIRE(drawings.size() == 2);
  const auto has_class = [](const Element& svg, const std::string& name) {
    size_t count = 0;
    for (const Element* path : svg.all("path"))
      count += (" " + path->attribute("class") + " ").find(" " + name + " ") != std::string::npos;
    return count;
  };
  for (const char* kind : {"fill-slack", "fill-libraries", "fill-context", "line-driver"}) {
    CAPTURE(kind);
    CHECK(has_class(*drawings[0], kind) == 0);
    CHECK(has_class(*drawings[1], kind) == 1);
  }
  CHECK(has_class(*drawings[1], "fill-outside") == 0);
  CHECK_THAT(drawings[1]->first("desc").own_text,
             Catch::Contains("counted by the driver, at most 411.0 MiB."));

  const std::vector<PageTable> tables = test::tables_of(*page);
  const PageTable& live = test::table_named(tables, "On the device at the measured peak");
  double sum = 0;
  for (size_t row = 0; row < live.rows.size(); ++row) sum += live.value(row, "memory");
  CHECK(sum == double(test::kGpuContextBytes + test::kGpuReservedBytes + test::kGpuLibraryBytes));
  const PageTable& ran = test::table_named(tables, "What the GPU ran");
  REQUIRE(ran.rows.size() == 4);
  CHECK(ran.text(0, "name") == "multiply<128, 64>");
  CHECK(ran.value(0, "time") == Approx(0.125 * passes));
  const PageTable& copies = test::table_named(tables, "Copies to and from the GPU");
  CHECK(copies.value(0, "rate") == Approx(double(64 << 20) / 0.125));
  CHECK(test::table_named(tables, "Time of the GPU by passes").rows.size() == size_t(passes));
  CHECK(test::table_named(tables, "Streams of the GPU").rows.size() == 4);

  // The same in words and as data.
  const json report = json_of(files, {files.plan, trace, "--quick"});
  const std::string words = report.dump();
  CHECK_THAT(words, Catch::Contains("CUPTI memory: not captured: held by another profiler."));
  CHECK_THAT(words, Catch::Contains("5 records were lost"));
  CHECK_THAT(words, Catch::Contains("1 activity belongs to no step"));
  CHECK_THAT(words, Catch::Contains("3.0 MiB more"));
  const json& rates = table_titled(report, "Copies to and from the GPU");
  CHECK(rates["columns"][4]["name"] == "rate_bytes_per_second");
  CHECK(rates["rows"][0][4] == Approx(double(64 << 20) / 0.125));
  for (const char* name : {"report.md", "figures.csv"})
    REQUIRE(call(run_report, {files.plan, trace, "--quick", "-o", files.output(name)}).code == 0);
  const std::string markdown = test::read_bytes(files.output("report.md"));
  CHECK_THAT(markdown, Catch::Contains("**Streams of the GPU**") &&
                           Catch::Contains("CUPTI memory: not captured: held by another profiler."));
  CHECK_THAT(
      test::read_bytes(files.output("figures.csv")),
      Catch::Contains("What the GPU did: Copies to and from the GPU,0,rate,536870912,bytes_per_second\r\n"));

  // Two runs: each has its own part, under its files.
  const json two = json_of(files, {trace, files.trace, files.stats, "--quick"});
  for (const json& section : two["sections"]) {
    if (section["title"] != "What the GPU did") continue;
    REQUIRE(section["parts"].size() == 1);
    CHECK(section["parts"][0]["heading"].get<std::string>().find(trace) != std::string::npos);
  }
}

TEST_CASE("report: --quick solves nothing, --limit draws another limit") {
  const Files files;
  const json quick = json_of(files, {files.plan, "--quick"}), whole = json_of(files, {files.plan});
  CHECK(quick.dump().find("smallest limit") == std::string::npos);
  CHECK(whole.dump().find("smallest limit") != std::string::npos);
  const std::string words = sentences_of(json_of(files, {files.plan, "--limit", "9MiB"}));
  CHECK_THAT(words, Catch::Contains("Within 9.0 MiB the largest picture"));
  const auto page = page_of(files, {files.plan, files.frontier, "--limit", "9MiB"});
  size_t drawn = 0;
  for (const Element* text : page->all("text"))
    drawn += text->own_text.find("limit 9.0 MiB") != std::string::npos;
  CHECK(drawn >= 3);  // memory, passes, resolution or time
}

TEST_CASE("report: hostile names in files are text in every output") {
  // A folder's name is the model's, and may be anything but a slash.
  Files files("64x48", "m\"><img src=x onerror=alert(1)>|`x`");
  const std::string script = "<script>alert(1)</script>", breakout = "\"><img src=x>|a`b`\nnext\r\n| row |";
  const auto change = [&](const std::string& file, const std::function<void(json&)>& edit) {
    json document = json::parse(test::read_bytes(file));
    edit(document);
    files.scratch.write(std::filesystem::path(file).filename(), document.dump());
  };
  const auto rename = [&](json& passes) {
    for (json& pass : passes) pass["name"] = script + breakout + pass["name"].get<std::string>();
  };
  change(files.plan, [&](json& plan) { rename(plan["passes"]); });
  change(files.stats, [&](json& stats) {
    rename(stats["passes"]);
    stats["device"] = script;
    stats["libraries"] = breakout;
    stats["verification"]["compared_with"] = breakout;
  });
  change(files.trace, [&](json& trace) {
    rename(trace["passes"]);
    trace["model"] = trace["device"] = script;
    for (json& layer : trace["layers"]) layer = breakout + layer.get<std::string>();
  });
  const std::string gpu_trace = files.gpu_trace();
  change(gpu_trace, [&](json& trace) {
    for (json& name : trace["activity_names"]) name = script + breakout + name.get<std::string>();
    for (json& source : trace["sources"]) source["name"] = source["detail"] = breakout + script;
  });
  const Words words = joined(files.all(), {gpu_trace});
  change(files.profile, [&](json& profile) {
    profile["model"] = breakout;
    for (json& layer : profile["layers"]) layer["name"] = script + layer["name"].get<std::string>();
    for (json& size : profile["sizes"]) {
      size["peak_layer"] = script;
      for (json& live : size["peak_live"]) live["name"] = breakout;
    }
  });
  const auto page = page_of(files, words);  // strict: markup from a name would not be read
  CHECK(page->all("img").empty());
  CHECK(page->all("script").size() == 1);
  CHECK(page->text().find(script) != std::string::npos);
  CHECK(test::table_named(test::tables_of(*page), "Passes, predicted and measured").rows.size() ==
        files.planned.plan.passes.size());

  for (const char* name : {"report.md", "figures.csv"}) {
    REQUIRE(call(run_report, joined(words, {"--quick", "-o", files.output(name)})).code == 0);
    const std::string text = test::read_bytes(files.output(name));
    CHECK(text.find("\n| row |") == std::string::npos);
    CHECK(text.find("\nnext") == std::string::npos);
    if (name == std::string("report.md")) {
      CHECK(text.find("<script") == std::string::npos);
      CHECK(text.find("<img") == std::string::npos);
    }
  }
  CHECK_NOTHROW(json_of(files, joined(words, {"--quick"})));
}

TEST_CASE("report: invalid UTF-8 is refused by the readers or replaced") {
  const Files files;
  std::string bytes = test::read_bytes(files.stats);
  const size_t at = bytes.find("two cores");
  REQUIRE(at != std::string::npos);
  bytes[at] = '\xff';
  files.scratch.write("stats.json", bytes);
  const Ended ended = call(run_report, {files.stats, "-o", files.output("report.html")});
  if (ended.code == 0) {
    CHECK_NOTHROW(PageReader::read(test::read_bytes(files.output("report.html"))));
  } else {
    require_refused(ended, 2, {"stats.json"});
  }
  // The title comes from the command line, where any bytes are let in.
  REQUIRE(
      call(run_report, {files.profile, "--title", "a\xff\x1b[0m", "-o", files.output("report.html")}).code ==
      0);
  CHECK(PageReader::read(test::read_bytes(files.output("report.html")))->first("h1").own_text ==
        "a\xEF\xBF\xBD[0m");
  CHECK(call(run_report, {files.profile, "--title", "a\xff", "--json"}).code == 0);
}

TEST_CASE("report: the model of a plan from elsewhere is named") {
  const Files files;
  std::filesystem::rename(files.model, files.output("moved"));
  require_refused(call(run_report, {files.plan, "--quick", "--json"}), 2,
                  {"plan.json", "request.model", "--model"});
  CHECK(call(run_report, {files.plan, "--quick", "--json", "--model", files.output("moved")}).code == 0);
}

TEST_CASE("report: what cannot be done is said in one line, and no file appears") {
  const Files files;
  const std::vector<std::string> before = files.scratch.files();
  const auto refused = [&](const Words& words, const std::vector<std::string>& parts) {
    require_refused(call(run_report, words), 2, parts);
  };
  refused({}, {"files", "--help"});
  refused({files.stats}, {"--output", "--json"});
  refused({files.stats, "-o", files.output("report.pdf")}, {"report.pdf", ".html", ".md", ".csv"});
  refused({files.stats, "-o", files.output("nowhere/report.html")}, {"nowhere/report.html", "folder"});
  refused({files.output("missing.json"), "-o", files.output("report.html")}, {"missing.json"});
  refused({files.stats, "-o", files.output("report.html"), "--limit", "much"}, {"--limit", "much"});
  refused({files.model + "/config.json", "-o", files.output("report.html")}, {"config.json", "schema"});
  json newer = json::parse(test::read_bytes(files.stats));
  newer["version"] = 99;
  refused({files.scratch.write("newer.json", newer.dump()).string(), "--json"}, {"newer.json", "version"});
  std::filesystem::remove(files.scratch / "newer.json");
  CHECK(files.scratch.files() == before);

  const Ended help = call(run_report, {"--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out, Catch::Contains("Examples:") && Catch::Contains("--quick"));
  CHECK(call(run_report, {"--version"}).out == "headroom-report " HEADROOM_VERSION "\n");
}

}  // namespace
}  // namespace headroom::reports
