#include <catch2/catch.hpp>

#include "reports/figures/unit.h"
#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::page_of;
using test::report_json;
using test::require_refused;
using test::sections_of;
using test::sentences_of;
using test::Words;

constexpr const char* kSnapshot = HEADROOM_TEST_DATA "/memory_histories/torch-2.11.pickle";
constexpr const char* kWithoutRefusal = HEADROOM_TEST_DATA "/memory_histories/sdxl-384x256.pickle";

TEST_CASE("report: a memory snapshot of PyTorch opens with its peak, in a sentence, a chart and two tables") {
  const json report = report_json({kSnapshot});
  REQUIRE(report["sections"][0]["title"] == "Memory that PyTorch recorded");
  CHECK_THAT(report["sections"][0]["parts"][0]["sentences"][0].get<std::string>(),
             Catch::StartsWith("The peak on cuda:0, "));
  CHECK(report["sections"][0]["parts"][0]["tables"].size() == 2);
  CHECK_THAT(sentences_of(report), Catch::Contains("AutoencoderKL.decode is in the stacks of ") &&
                                       Catch::Contains("--model and --size") &&
                                       Catch::Contains("such as --model sdxl."));
  const test::Scratch scratch;
  const std::string page = (scratch / "report.html").string(), text = (scratch / "report.md").string();
  CHECK(call(run_report, {kSnapshot, kWithoutRefusal, "-o", page}).code == 0);
  CHECK_THAT(test::read_bytes(page), Catch::Contains("<svg") && Catch::Contains("out of memory: asked for"));
  CHECK(call(run_report, {kWithoutRefusal, "-o", text}).code == 0);
  CHECK_THAT(test::read_bytes(text), Catch::Contains("unet_2d_blocks.py:forward / upsampling.py:forward"));
}

TEST_CASE("report: beside a memory history stands what Headroom would need") {
  const Words asked{kSnapshot, "--model", HEADROOM_TEST_DATA "/demo_model", "--size", "256x192"};
  const std::string words = sentences_of(report_json(asked));
  CHECK_THAT(words, Catch::Contains("Headroom decodes ") && Catch::Contains("256×192") &&
                        Catch::Contains("Within the 600.0 MiB that PyTorch had on cuda:0 when it ran out"));
  Words quick = asked;
  quick.push_back("--quick");
  CHECK_THAT(sentences_of(report_json(quick)), Catch::Contains("--quick leaves it out."));
  require_refused(call(run_report, {kSnapshot, "--json", "--size", "256x192"}), 2, {"--size", "--model"});
  for (const char* option : {"--model", "--dtype", "--device", "--frames"})
    require_refused(call(run_report, {kSnapshot, "--json", option, "1"}), 2, {option, "expected --size"});
  require_refused(call(run_report, {kSnapshot, "--json", "--size", "big", "--model", "sdxl"}), 2,
                  {"--size", "big"});
}

TEST_CASE("report: every figure is of the recorded device that was asked for, and names it") {
  constexpr const char* kTwoGpus = HEADROOM_TEST_DATA "/memory_histories/autoencoder-kl.pickle";
  for (const auto& [asked, other, peak] :
       {std::tuple("cuda:0", "cuda:1", "1419.7 MiB"), std::tuple("cuda:1", "cuda:0", "1287.4 MiB")}) {
    const json report = report_json({kTwoGpus, kTwoGpus, "--recorded-device", asked, "--quick"});
    for (const json& figure : report["headline"]["figures"]) {
      CHECK_THAT(figure["basis"].get<std::string>(), Catch::Contains(asked));
    }
    CHECK(format(Unit::bytes, report["headline"]["figures"][0]["bytes"].get<double>()) == peak);
    CHECK_THAT(report["headline"]["sentence"].get<std::string>(), Catch::Contains(asked));
    CHECK_THAT(report.dump(), !Catch::Contains(other));
    CHECK_THAT(sentences_of(report), Catch::Contains(peak));
  }
}

TEST_CASE("report: a hostile pickle does nothing and is refused in a line") {
  const test::Scratch scratch;
  const std::string executed = (scratch / "executed").string();
  const std::string ten_gigabytes("\0\xe4\x0b\x54\2\0\0\0", 8);
  std::string bomb = "]q";
  bomb += '\0';
  for (int level = 1; level < 100; ++level)
    bomb += std::string("](") + "h" + std::string(1, static_cast<char>(level - 1)) + "h" +
            std::string(1, static_cast<char>(level - 1)) + "eq" + std::string(1, static_cast<char>(level));
  for (const std::string& bytes : {"\x80\x04"
                                   "cposix\nsystem\n(S'touch " +
                                       executed + "'\ntR.",
                                   "\x80\x04\x8d" + ten_gigabytes + "x", "\x80\x04" + bomb + ".",
                                   "\x80\x04" + std::string(1'000'000, ']') + ".", std::string("\x80\x04"),
                                   std::string("\x80\x04}\x94.")}) {
    const auto file = scratch.write("snapshot.pickle", bytes);
    require_refused(call(run_report, {file.string(), "--json"}), 2, {"snapshot.pickle: ", "expected"});
  }
  CHECK_FALSE(std::filesystem::exists(executed));
  // Cut short anywhere, a true one is refused as well.
  const std::string whole = test::read_bytes(kSnapshot);
  for (size_t length = 1; length < whole.size(); length += 701) {
    const auto file = scratch.write("snapshot.pickle", whole.substr(0, length));
    require_refused(call(run_report, {file.string(), "--json"}), 2,
                    {"snapshot.pickle: this pickle is damaged or cut off: byte "});
  }
}

}  // namespace
}  // namespace headroom::reports
