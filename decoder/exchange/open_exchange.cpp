#include "decoder/exchange/open_exchange.h"

#include <array>
#include <cstdlib>

#include "decoder/loading/load_module.h"

namespace headroom {

std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options) {
  const bool nccl = options.kind == ExchangeKind::nccl;
  return open_exchange(options, module_places(nccl ? "headroom-c10d-nccl.so" : "headroom-c10d.so"));
}

std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options,
                                        const std::vector<std::filesystem::path>& modules) {
  const bool nccl = options.kind == ExchangeKind::nccl;
  const std::filesystem::path module =
      present_module(modules, nccl ? "NCCL" : "torch.distributed's c10d, which several ranks need");
  // c10d writes a warning for every attempt to connect, and reads this as it is loaded. What matters is
  // thrown.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  const auto open = load_entry<OpenExchange>(module, kOpenExchange);
  std::array<char, 1024> error{};
  Exchange* exchange = open(HEADROOM_VERSION, &options, error.data(), error.size());
  if (exchange == nullptr) throw ExchangeError(error.data());
  return std::unique_ptr<Exchange>(exchange);
}

}  // namespace headroom
