#include "decoder/base/os/load_module.h"
#include "decoder/exchange/c10d/gloo_exchange.h"

using namespace headroom;

// The only entry of headroom-c10d.so.
extern "C" __attribute__((visibility("default"))) Exchange* headroom_open_exchange(
    const char* version, const ExchangeOptions* options, char* error, size_t error_bytes) {
  return answer_entry(version, error, error_bytes, [&] { return new GlooExchange(*options); });
}

static_assert(std::is_same_v<decltype(&headroom_open_exchange), OpenExchange>);
