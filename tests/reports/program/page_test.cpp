#include <catch2/catch.hpp>

#include "decoder/base/short_name.h"
#include "decoder/schedule/storage.h"
#include "planner/explain/peak.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/scaling.h"
#include "reports/figures/unit.h"
#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using test::DecodeFiles;
using test::Element;
using test::page_of;
using test::PageTable;
using test::report_json;
using test::sections_of;
using test::sentences_of;
using test::Words;

TEST_CASE("report: a page of one run has all sections in order, and the figures of its files") {
  const DecodeFiles files;
  const auto page = page_of(files, files.all());
  CHECK(sections_of(*page) ==
        std::vector<std::string>{"Memory over time", "What would lower the peak", "Summary",
                                 "What decided the peak", "Predicted against measured",
                                 "Kept tensors and the passes that use them", "Layers",
                                 "Peak against resolution", "Peak against time", "Files"});
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
    CHECK(passes.rows[i][passes.column("name")]->text() == short_name(plan.passes[i].name));
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

  // Memory on the device adds up to the peak.
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

  // Kept tensors, frontier, files.
  const PageTable& kept = test::table_named(tables, "Kept tensors");
  REQUIRE(kept.rows.size() == plan.kept.size());
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
}

TEST_CASE("report: a page begins with three figures, and what they rest on") {
  const DecodeFiles files;
  const auto page = page_of(files, files.all());
  const Element& main = page->first("main");
  std::vector<std::string> figures, names;
  for (const Element* figure : main.all("ul").front()->all("li")) {
    figures.push_back(figure->first("strong").own_text);
    names.push_back(figure->first("span").own_text);
  }
  const planner::CostModel costs(files.planned.model.graph);
  const int64_t untiled = planner::untiled_peak(files.planned.model, files.planned.plan.request, costs).bytes;
  const auto bytes = [](int64_t count) { return format(Unit::bytes, double(count)); };
  CHECK(figures == std::vector<std::string>{bytes(untiled), "12.0 MiB", bytes(files.ran.peak_bytes)});
  CHECK(names == std::vector<std::string>{"untiled", "limit", "measured"});
  const std::string sentence = main.first("p").own_text;
  const bool less = untiled >= files.ran.peak_bytes;
  const double ratio = double(untiled) / double(files.ran.peak_bytes);
  CHECK(sentence == "Same pixels, " + format(Unit::ratio, less ? ratio : 1 / ratio) +
                        (less ? " less memory" : " more memory") + " than the untiled decode of " +
                        files.model + " 64×48 fp32.");
  const std::string basis = main.all("ul")[1]->text();
  for (const char* part : {"compared with the untiled decode in ", "Memory: untiled predicted",
                           "here measured", "Time: not compared"})
    CHECK_THAT(basis, Catch::Contains(part));

  // All but the picture and what would lower the peak is folded, and begins a page of its own on paper.
  for (const Element* section : main.all("section")) {
    const std::string title = section->first("h2").own_text;
    const bool open = title == "Memory over time" || title == "What would lower the peak";
    CHECK((section->attribute("class").find("folded") == std::string::npos) == open);
    CHECK((section->children.front()->name == "details") == !open);
  }
  // Nothing was run, nothing compared: nothing is claimed of it.
  const auto planned = page_of(files, {files.plan, "--quick"});
  CHECK_THAT(planned->first("main").first("p").own_text, Catch::StartsWith("Same pixels by the plan, "));
  CHECK(planned->first("main").all("ul").front()->all("strong").size() == 3);
  CHECK_THAT(planned->first("main").all("ul")[1]->text(), Catch::Contains("no run among these files"));
  // Nothing to begin with: nothing is folded.
  const auto ran = page_of(files, {files.stats});
  CHECK(ran->all("strong").empty());
  CHECK(ran->all("details").size() == ran->first("main").all("dl").size());
}

TEST_CASE("report: pixels are called the same only where that was found, or is so by the plan") {
  DecodeFiles files;
  const auto sentence = [&](const Verification& verification, Dtype dtype) {
    Plan plan = files.planned.plan;
    plan.request.dtype = dtype;
    write_plan(files.plan, plan, files.planned.model.graph);
    files.ran.verification = verification;
    files.ran.dtype = name_of(dtype);
    write_stats(files.stats, files.ran);
    return page_of(files, {files.plan, files.stats, "--quick"})->first("main").first("p").own_text;
  };
  CHECK_THAT(sentence({kUntiledDecode, 4e-4, 1e-4, 4, 90}, Dtype::fp32), Catch::StartsWith("Same pixels, "));
  CHECK_THAT(sentence({kUntiledDecode, 0.0136, 3.4e-3, 4, 75}, Dtype::fp32),
             Catch::StartsWith("Pixels within 3.4e-03 of the largest value, "));
  const std::string other = "another plan; untiled would not fit this machine";
  CHECK_THAT(sentence({other, 0, 0, 4, 200}, Dtype::fp32), Catch::StartsWith("Same pixels by the plan, "));
}

TEST_CASE("report: a profile of the same size and machine says how much faster") {
  DecodeFiles files;
  profiler::Profile profile = DecodeFiles::profiled();
  profile.device = files.ran.device;
  profile.weights_bytes =
      resident_weights_bytes(files.planned.model.graph, storage_of(files.planned.plan.request));
  profile.sizes = {{64, 48, 1, 1, 4 * files.ran.peak_bytes, 3 * files.ran.seconds, "a", {}}};
  profile.layers.clear();
  for (const Op& op : files.planned.model.graph.ops())
    profile.layers.push_back({op.name, "conv", {{1, 1, 1, 1, 1}}, "law"});
  const std::string file = files.scratch.write("same.json", to_json(profile).dump()).string();
  const auto page = page_of(files, {files.plan, files.stats, file, "--quick"});
  CHECK_THAT(page->first("main").first("p").own_text,
             Catch::StartsWith("Same pixels, 4.00× less memory, 3.00× faster than the untiled decode"));
  CHECK_THAT(page->first("main").all("ul")[1]->text(), Catch::Contains("both measured on "));
}

TEST_CASE("report: the summary says in words what the files say in figures") {
  const DecodeFiles files;
  const std::string words = sentences_of(report_json(files.all()));
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

TEST_CASE("report: what each file alone shows") {
  const DecodeFiles files;
  const auto sections = [&](const Words& words) { return sections_of(*page_of(files, words)); };
  CHECK(sections({files.plan, "--quick"}) ==
        std::vector<std::string>{"Memory over time", "Summary", "What decided the peak", "Passes",
                                 "Kept tensors and the passes that use them", "Files"});
  CHECK(sections({files.stats}) ==
        std::vector<std::string>{"Summary", "Predicted against measured", "Files"});
  CHECK(sections({files.trace}) ==
        std::vector<std::string>{"Memory over time", "What decided the peak", "Files"});
  CHECK(sections({files.profile}) == std::vector<std::string>{"Peak against resolution", "Layers", "Files"});
  CHECK(sections({files.frontier}) == std::vector<std::string>{"Peak against time", "Files"});
}

}  // namespace
}  // namespace headroom::reports
