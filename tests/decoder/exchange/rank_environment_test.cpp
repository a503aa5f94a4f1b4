#include "decoder/exchange/open_exchange.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<RankEnvironment> read(const Variables& variables) {
  return rank_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "1234"}};
TEST_CASE("nobody has started ranks") {
  CHECK(!read({}));
  CHECK(!read({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "1234"}}));
}

TEST_CASE("torchrun's variables") {
  const RankEnvironment found = read(kTorchrun).value();
  CHECK(read(with(kTorchrun, {{"MASTER_ADDR", "file:/run/me/ranks"}}))->store_file == "/run/me/ranks");
  CHECK(found.rank == 5);
  CHECK(found.ranks == 8);
  CHECK(found.local_rank == 1);
  CHECK(found.address == "node7");
  CHECK(found.port == 1234);
  CHECK(!found.store_is_there);
  CHECK(found.store_prefix.empty());
}

TEST_CASE("torchrun's own store is joined, under the name of the attempt") {
  const RankEnvironment found =
      read(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"TORCHELASTIC_RESTART_COUNT", "2"}}))
          .value();
  CHECK(found.store_is_there);
  CHECK(found.store_prefix == "/worker/attempt_2");
  CHECK(!read(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->store_is_there);
}

TEST_CASE("variables that are missing, no numbers, or contradict each other are named") {
  const auto refusal = [](const Variables& variables) -> std::string {
    try {
      read(variables);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const auto without = [](Variables variables, const std::string& name) {
    variables.erase(name);
    return variables;
  };
  CHECK(refusal(without(kTorchrun, "WORLD_SIZE")) ==
        "environment variable WORLD_SIZE is not set, but RANK is");
  CHECK(refusal(without(kTorchrun, "RANK")) == "environment variable RANK is not set, but WORLD_SIZE is");
  CHECK(refusal(without(kTorchrun, "MASTER_PORT")) ==
        "environment variable MASTER_PORT is not set, but RANK is");
  CHECK(refusal(without(kTorchrun, "MASTER_ADDR")) ==
        "environment variable MASTER_ADDR is not set: expected the address of the machine of rank 0");
  CHECK(refusal(with(kTorchrun, {{"MASTER_ADDR", "file:ranks"}})) ==
        "environment variable MASTER_ADDR: expected file:/FOLDER/FILE, got 'file:ranks'");
  CHECK(refusal(with(kTorchrun, {{"RANK", "8"}})) ==
        "environment variable RANK: expected less than WORLD_SIZE, 8, got 8");
  CHECK(refusal(with(kTorchrun, {{"RANK", "-1"}})) ==
        "environment variable RANK: expected a number from 0 to 65536, got '-1'");
  CHECK(refusal(with(kTorchrun, {{"WORLD_SIZE", "8x"}})).find("WORLD_SIZE") != std::string::npos);
  CHECK(refusal(with(kTorchrun, {{"LOCAL_RANK", "8"}})).find("LOCAL_RANK") != std::string::npos);
  CHECK(refusal(with(kTorchrun, {{"MASTER_PORT", "65536"}})).find("MASTER_PORT") != std::string::npos);
  CHECK(refusal(with(kTorchrun, {{"GLOO_DEVICE_TRANSPORT", "TCP_TLS"}}))
            .starts_with("environment variable GLOO_DEVICE_TRANSPORT: TCP_TLS encrypts nothing"));
}

}  // namespace
}  // namespace headroom
