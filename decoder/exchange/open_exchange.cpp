#include "decoder/exchange/open_exchange.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "decoder/base/errors.h"
#include "decoder/base/os/load_module.h"

namespace headroom {
namespace {

using Text = std::optional<std::string>;

int32_t number_in(const std::string& name, const std::string& text, int32_t lowest, int32_t highest) {
  int32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end || value < lowest || value > highest)
    throw InputError("environment variable " + name + ": expected a number from " + std::to_string(lowest) +
                     " to " + std::to_string(highest) + ", got '" + text + "'");
  return value;
}

constexpr int32_t kMostRanks = 1 << 16;

/// Reads the ranks' variables. Returns nullopt if neither RANK nor WORLD_SIZE is set.
std::optional<RankEnvironment> read_ranks(const VariableLookup& variable) {
  const Text rank = variable("RANK"), ranks = variable("WORLD_SIZE");
  if (!rank && !ranks) return std::nullopt;
  if (!rank) throw InputError("environment variable RANK is not set, but WORLD_SIZE is");
  if (!ranks) throw InputError("environment variable WORLD_SIZE is not set, but RANK is");
  RankEnvironment found;
  found.ranks = number_in("WORLD_SIZE", *ranks, 1, kMostRanks);
  found.rank = number_in("RANK", *rank, 0, kMostRanks);
  if (found.rank >= found.ranks)
    throw InputError("environment variable RANK: expected less than WORLD_SIZE, " + *ranks + ", got " +
                     *rank);
  if (const Text local = variable("LOCAL_RANK"))
    found.local_rank = number_in("LOCAL_RANK", *local, 0, found.ranks - 1);
  return found;
}

void read_meeting_point(const VariableLookup& variable, RankEnvironment& found) {
  const Text port = variable("MASTER_PORT");
  const Text address = variable("MASTER_ADDR");
  if (port) found.port = number_in("MASTER_PORT", *port, 1, 65535);
  Text at = address;
  if (!at && found.ranks == 1) at = "127.0.0.1";
  if (!at || at->empty())
    throw InputError(
        "environment variable MASTER_ADDR is not set: expected the address of the machine of rank 0");
  if (at->starts_with("file:")) {
    found.address = "127.0.0.1";
    found.store_file = at->substr(5);
    if (!found.store_file.starts_with('/'))
      throw InputError("environment variable MASTER_ADDR: expected file:/FOLDER/FILE, got '" + *at + "'");
    return;
  }
  if (!port) throw InputError("environment variable MASTER_PORT is not set, but RANK is");
  found.address = *at;
}

/// Rejects GLOO_DEVICE_TRANSPORT=TCP_TLS. Gloo in PyTorch 2.11 reads the certificates but sends plain text,
/// and accepts ranks without a certificate. A user who sets it expects encryption.
void refuse_encryption(const VariableLookup& variable) {
  if (variable("GLOO_DEVICE_TRANSPORT") == "TCP_TLS")
    throw InputError(
        "environment variable GLOO_DEVICE_TRANSPORT: TCP_TLS encrypts nothing in PyTorch 2.11. Unset it, and "
        "use a network that you trust");
}

}  // namespace

std::optional<RankEnvironment> rank_environment(const VariableLookup& variable) {
  std::optional<RankEnvironment> found = read_ranks(variable);
  if (!found) return std::nullopt;
  read_meeting_point(variable, *found);
  refuse_encryption(variable);
  // torch.distributed uses the same variables to find the agent's store.
  found->store_is_there = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (found->store_is_there)
    found->store_prefix = "/worker/attempt_" + variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return found;
}

std::optional<RankEnvironment> rank_environment() {
  return rank_environment([](const std::string& name) -> Text {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

std::string trust_note(const RankEnvironment& environment) {
  const std::string& file = environment.store_file;
  if (!file.empty())
    return "ranks meet in " + file + ": whoever reaches the ranks' ports can change or end the run";
  return "ranks meet at " + environment.address + ":" + std::to_string(environment.port) +
         ": whoever reaches this port and those of the ranks can join, change or end the run. Use a network "
         "that you trust";
}

namespace {

OpenExchange entry_of(ExchangeKind kind, const std::vector<std::filesystem::path>& modules) {
  const bool nccl = kind == ExchangeKind::nccl;
  return load_entry<OpenExchange>(
      present_module(modules, nccl ? "NCCL" : "torch.distributed's c10d, which several ranks need"),
      kOpenExchange);
}

std::vector<std::filesystem::path> modules_of(ExchangeKind kind) {
  return module_places(kind == ExchangeKind::nccl ? "headroom-c10d-nccl.so" : "headroom-c10d.so");
}

}  // namespace

void load_exchange(ExchangeKind kind) {
  entry_of(kind, modules_of(kind));
}

std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options) {
  return open_exchange(options, modules_of(options.kind));
}

std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options,
                                        const std::vector<std::filesystem::path>& modules) {
  const OpenExchange open = entry_of(options.kind, modules);
  std::array<char, 1024> error{};
  Exchange* exchange = open(HEADROOM_VERSION, &options, error.data(), error.size());
  if (exchange == nullptr) throw ExchangeError(error.data());
  return std::unique_ptr<Exchange>(exchange);
}

}  // namespace headroom
