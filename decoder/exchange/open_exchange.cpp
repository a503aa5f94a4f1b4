#include "decoder/exchange/open_exchange.h"

#include <array>

#include "decoder/base/os/load_module.h"

namespace headroom {

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
