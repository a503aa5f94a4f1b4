// A profile that is interrupted, and gone on with.
#include "profiler/measure/collect.h"

#include <catch2/catch.hpp>
#include <map>

#include "decoder/session/libraries.h"
#include "profiler/measure/partial_profile.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

struct Stopped {};

/// How often each thing was told of, until so much was told.
struct Told {
  std::map<std::string, int> times;
  int all = 0;
  double seconds = 0;  ///< by the clock

  /// Of the decodes of this size.
  int of(const std::string& size) const {
    int sum = 0;
    for (const auto& [what, count] : times) sum += what.rfind(size + " ", 0) == 0 ? count : 0;
    return sum;
  }
};

/// The clock goes on by a second with each look at it: so every call is long, and everything is kept.
Told profiled(const Model& model, const ProfileRequest& request, int until, Profile* profile = nullptr) {
  Told told;
  double now = 0;
  const auto progress = [&](double share, double left, const std::string& what) {
    CHECK(share <= 1);
    CHECK(left >= 0);
    ++told.times[what];
    if (++told.all == until) throw Stopped{};
  };
  try {
    const Profile found =
        collect_profile(model, request, test::random_source(1), progress, nullptr, [&] { return now += 1; });
    if (profile != nullptr) *profile = found;
  } catch (const Stopped&) {
    CHECK(profile == nullptr);
  }
  told.seconds = now;
  return told;
}

TEST_CASE("an interrupted profile goes on with the decodes and tables that it has, and no other one does") {
  start_libraries(2);
  const test::Scratch scratch;
  const Model model = test::model_of(test::tiny_config({8}));
  ProfileRequest request;
  request.model = model.name;
  request.sizes = {{16, 16}};
  request.weights_source = "random";
  request.effort.coarse = true;
  request.effort.visits = 1;
  request.effort.target_error = 1;  // one visit will do
  request.partial_file = scratch / "profile.json.partial";

  ProfileRequest alone = request;
  alone.partial_file.clear();
  Profile whole;
  const Told all = profiled(model, alone, 0, &whole);
  REQUIRE(all.of("16x16") > 0);
  const int decodes = all.of("16x16"), tables = all.all - decodes;
  REQUIRE(tables > 10);

  profiled(model, request, decodes + tables / 2);
  REQUIRE(std::filesystem::exists(request.partial_file));
  ProfileRequest larger = request;
  larger.sizes = {{24, 24}};
  const Told other = profiled(model, larger, 3);
  CHECK(other.of("24x24") == 3);

  Profile rest;
  const Told gone_on = profiled(model, request, 0, &rest);
  CHECK(gone_on.of("16x16") == 0);
  CHECK(gone_on.seconds < 0.9 * all.seconds);
  REQUIRE(rest.latency_tables.size() == whole.latency_tables.size());
  CHECK(rest.precision.points == whole.precision.points);
  CHECK(rest.sizes[0].peak_layer == whole.sizes[0].peak_layer);
  for (size_t i = 0; i < rest.layers.size(); ++i)
    CHECK(rest.layers[i].sizes[0].activation_bytes == whole.layers[i].sizes[0].activation_bytes);
}

}  // namespace
}  // namespace headroom::profiler
