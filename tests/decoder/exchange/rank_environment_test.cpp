#include "decoder/exchange/rank_environment.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "decoder/graph/errors.h"

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
const Variables kSrun = {{"SLURM_PROCID", "3"},
                         {"SLURM_STEP_NUM_TASKS", "4"},
                         {"SLURM_LOCALID", "1"},
                         {"SLURM_JOB_NODELIST", "gpu[07-08,11],gpu3"}};
const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "3"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};

TEST_CASE("nobody has started ranks") {
  CHECK(!read({}));
  CHECK(!read({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "1234"}}));
  CHECK(!read(with(kSrun, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}})));
  CHECK(!read(
      {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_NODELIST", "gpu7"}}));  // a job's shell
}

TEST_CASE("torchrun's variables") {
  const RankEnvironment found = read(kTorchrun).value();
  CHECK(found.launcher == "torchrun");
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

TEST_CASE("srun's variables, with the first machine of the list") {
  const RankEnvironment found = read(kSrun).value();
  CHECK(found.launcher == "srun");
  CHECK(found.rank == 3);
  CHECK(found.ranks == 4);
  CHECK(found.local_rank == 1);
  CHECK(found.address == "gpu07");
  CHECK(found.port == 29500);
  const auto address = [](const Variables& more) { return read(with(kSrun, more))->address; };
  CHECK(address({{"SLURM_JOB_NODELIST", "one"}}) == "one");
  CHECK(address({{"SLURM_JOB_NODELIST", "one,two"}}) == "one");
  CHECK(address({{"SLURM_JOB_NODELIST", "rack[2-3,7]n[01,05]x,other"}}) == "rack2n01x");
  CHECK(address({{"SLURM_STEP_NODELIST", "gpu11"}}) == "gpu11");
  CHECK(address({{"MASTER_ADDR", "10.0.0.1"}}) == "10.0.0.1");
  CHECK(address({{"SLURM_JOB_NODELIST", ""}, {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.2"}}) == "10.0.0.2");
  CHECK(read(with(kSrun, {{"MASTER_PORT", "77"}}))->port == 77);
  const RankEnvironment by_pmi = read(with(kSrun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}})).value();
  CHECK(by_pmi.launcher == "srun");
  CHECK(by_pmi.local_rank == 1);
}

TEST_CASE("mpirun's variables, of Open MPI and of MPICH") {
  const RankEnvironment found = read(kMpirun).value();
  CHECK(found.launcher == "mpirun");
  CHECK(found.rank == 2);
  CHECK(found.ranks == 3);
  CHECK(found.local_rank == 2);
  CHECK(found.address == "127.0.0.1");
  CHECK(read(with(kMpirun, {{"MASTER_ADDR", "node1"}}))->address == "node1");
  CHECK(read(with(kMpirun, {{"MASTER_ADDR", "file:/run/me/ranks"}}))->store_file == "/run/me/ranks");
  const RankEnvironment mpich =
      read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MASTER_ADDR", "node1"}})
          .value();
  CHECK(mpich.launcher == "mpiexec");
  CHECK(mpich.rank == 1);
  CHECK(mpich.local_rank == 1);
  CHECK(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}})->address == "127.0.0.1");
}

TEST_CASE("a launcher that another started for each machine comes first") {
  CHECK(read(with(kSrun, kTorchrun))->launcher == "torchrun");
  CHECK(read(with(kSrun, kMpirun))->launcher == "mpirun");
  CHECK(read(with(kMpirun, kTorchrun))->rank == 5);
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
        "environment variable MASTER_ADDR is not set: expected the address of the machine of rank 0, as "
        "torchrun started "
        "8 ranks");
  CHECK(refusal(without(kMpirun, "OMPI_COMM_WORLD_RANK")) ==
        "environment variable OMPI_COMM_WORLD_RANK is not set, but OMPI_COMM_WORLD_SIZE is");
  CHECK(refusal(with(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}))
            .starts_with("environment variable MASTER_ADDR"));
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
  CHECK(refusal(with(kSrun, {{"SLURM_STEP_NUM_TASKS", ""}})).find("SLURM_STEP_NUM_TASKS") !=
        std::string::npos);
}

}  // namespace
}  // namespace headroom
