#include "reports/figures/history.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "reports/figures/document.h"
#include "tests/reports/figures/printed_figures.h"

namespace headroom::reports {
namespace {

DocumentPtr recorded(const std::string& name) {
  return read_document(HEADROOM_TEST_DATA "/memory_histories/" + name);
}

double column_sum(const Table& table, size_t column) {
  return std::accumulate(table.rows.begin(), table.rows.end(), 0.0, [&](double sum, const Row& row) {
    return sum + std::get<double>(row.cells[column]);
  });
}

TEST_CASE("history: snapshots of PyTorch are documents") {
  for (const char* name : {"torch-2.11.pickle", "torch-newest.pickle"}) {
    const DocumentPtr document = recorded(name);
    CHECK(std::string(kind_of(*document)) == "memory history");
    REQUIRE(document->as<profiler::MemoryHistory>() != nullptr);
  }
  CHECK(summary(*recorded("torch-2.11.pickle")) ==
        "memory snapshot of PyTorch, cuda:0, peak 387.4 MiB, 90 records, out of memory");
}

TEST_CASE("history: both tables hold all that was allocated, at every moment") {
  for (const char* name : {"torch-2.11.pickle", "torch-late.pickle", "sdxl-384x256.pickle"}) {
    const DocumentPtr document = recorded(name);
    const auto& history = *document->as<profiler::MemoryHistory>();
    const profiler::DeviceHistory& device = history.devices[0];
    for (size_t i = 0; i < device.moments(); ++i) {
      CAPTURE(name, i);
      const auto all = double(device.allocated_bytes[i]);
      for (const size_t most : {size_t{3}, size_t{1000}})
        REQUIRE(column_sum(history_tensors_table(history, device, i, most), 2) == all);
      REQUIRE(column_sum(history_modules_table(history, device, i), 2) == all);
    }
  }
}

TEST_CASE("history: the tables name who asked, largest first") {
  const DocumentPtr document = recorded("torch-2.11.pickle");
  const auto& history = *document->as<profiler::MemoryHistory>();
  const profiler::DeviceHistory& device = history.devices[0];
  test::check_expected("figures/history.txt",
                       test::printed({history_tensors_table(history, device, device.peak(), 2),
                                      history_modules_table(history, device, device.peak())}));
}

TEST_CASE("history: tensors with one stack share a row, and the row's stack has all frames") {
  const DocumentPtr document = recorded("sdxl-384x256.pickle");
  const auto& history = *document->as<profiler::MemoryHistory>();
  const profiler::DeviceHistory& device = history.devices[0];
  const std::vector<LiveStack> stacks = live_stacks(device, device.peak());
  std::set<std::pair<profiler::StackId, bool>> seen;
  int64_t tensors = 0;
  for (const LiveStack& one : stacks) {
    CHECK(seen.emplace(one.stack, one.before_recording).second);
    tensors += one.tensors;
  }
  CHECK(tensors == static_cast<int64_t>(device.live_at(device.peak()).size()));
  CHECK(stacks.size() < device.live_at(device.peak()).size());
  const std::vector<std::string> lines = profiler::lines_of(history.stacks, stacks.front().stack);
  CHECK(lines.size() > 4);
  CHECK_THAT(lines.front(), Catch::Contains(".py:") || Catch::Contains("::"));
}

TEST_CASE("history: the models of the class that decoded are recognised") {
  const auto models = [](const char* file) {
    const DocumentPtr document = recorded(file);
    const auto& history = *document->as<profiler::MemoryHistory>();
    const profiler::DeviceHistory& device = history.devices[history.main_device()];
    return std::pair(recognised_models(history, device), likely_model(history, device));
  };
  const auto [pictures, picture] = models("autoencoder-kl.pickle");
  CHECK(std::find(pictures.begin(), pictures.end(), "sdxl") != pictures.end());
  CHECK(picture == "sdxl");
  const auto [clips, clip] = models("wan2.1-128x128-9-frames.pickle");
  for (const std::string& name : clips) CHECK_THAT(name, Catch::StartsWith("wan"));
  REQUIRE_FALSE(clips.empty());
  CHECK(clip == clips.front());
}

TEST_CASE("history: however few columns a chart has, its peak stays") {
  for (const char* name : {"torch-2.11.pickle", "sdxl-384x256.pickle"}) {
    const DocumentPtr document = recorded(name);
    const profiler::DeviceHistory& device = document->as<profiler::MemoryHistory>()->devices[0];
    const auto peak = double(device.allocated_bytes[device.peak()]);
    const double end = history_place(device, device.moments() - 1);
    for (const size_t columns : {size_t{1}, size_t{7}, size_t{50}, size_t{100'000}}) {
      CAPTURE(name, columns);
      const Chart chart = history_chart(device, 0, end, columns);
      const std::vector<double>& y = chart.series[0].y;
      CHECK(*std::max_element(y.begin(), y.end()) == peak);
      CHECK(y.size() <= std::max(columns, device.moments()) + 1);
      CHECK(std::is_sorted(chart.series[0].x.begin(), chart.series[0].x.end()));
      REQUIRE(chart.notes.size() == 1);
    }
    // A part of it, of which the peak is none.
    const double late = history_place(device, device.moments() - 2);
    CHECK(history_chart(device, late, end, 10).notes.empty());
  }
}

TEST_CASE("history: a moment and its place on the axis") {
  const DocumentPtr document = recorded("torch-2.11.pickle");
  const profiler::DeviceHistory& device = document->as<profiler::MemoryHistory>()->devices[0];
  for (size_t i = 2; i < device.moments(); ++i) CHECK(history_moment(device, history_place(device, i)) == i);
  CHECK(history_moment(device, -1) == 0);
  CHECK(history_moment(device, 1e9) == device.moments() - 1);
}

TEST_CASE("history: the sentences say the peak, who asked last and what was free") {
  const DocumentPtr document = recorded("torch-2.11.pickle");
  const auto& history = *document->as<profiler::MemoryHistory>();
  const std::vector<std::string> said = history_sentences(history, history.devices[0]);
  std::string lines;
  for (const std::string& sentence : said) lines += sentence + "\n";
  test::check_expected("figures/history_sentences.txt", lines);
  CHECK(available_bytes(history.devices[0]) == int64_t{600} << 20);
  const DocumentPtr whole = recorded("sdxl-384x256.pickle");
  const auto& traced = *whole->as<profiler::MemoryHistory>();
  CHECK_THAT(history_sentences(traced, traced.devices[0])[2], Catch::StartsWith("No request failed"));
  CHECK_FALSE(available_bytes(traced.devices[0]));
  const DocumentPtr late = recorded("torch-late.pickle");
  const auto& cut = *late->as<profiler::MemoryHistory>();
  CHECK_THAT(history_sentences(cut, cut.devices[0]).rbegin()[1],
             Catch::EndsWith("were allocated before the recording began."));
}

TEST_CASE("history: the sentence on the peak names each place once") {
  const DocumentPtr document = read_document(HEADROOM_TEST_DATA "/../../docs/tour/snapshot.pickle");
  const auto& history = *document->as<profiler::MemoryHistory>();
  CHECK_THAT(
      history_sentences(history, history.devices[0])[1],
      Catch::StartsWith("Live then: 338.2 MiB of upsampling.py:140 forward in 5 tensors, 24.0 MiB of "));
}

TEST_CASE("history: the last sentence names the class that decoded") {
  for (const auto& [file, words] :
       {std::pair("autoencoder-kl.pickle", "AutoencoderKL.decode is in the stacks of 82 allocations."),
        std::pair("wan2.1-128x128-9-frames.pickle", "AutoencoderKLWan.decode is in ")}) {
    const DocumentPtr document = recorded(file);
    const auto& history = *document->as<profiler::MemoryHistory>();
    CHECK_THAT(history_sentences(history, history.devices[0]).back(), Catch::StartsWith(words));
  }
}

}  // namespace
}  // namespace headroom::reports
