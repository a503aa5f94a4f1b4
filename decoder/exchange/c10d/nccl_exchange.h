#pragma once

#include <map>
#include <vector>

#include "decoder/exchange/c10d/gloo_exchange.h"

namespace headroom {

/// Between GPUs: NCCL, on the device that is current when it is opened. Spans are memory of that device, and
/// what is sent must have been computed when it is posted. Gathered values are the host's and go by Gloo.
class NcclExchange final : public GlooExchange {
 public:
  explicit NcclExchange(const ExchangeOptions& options);
  ~NcclExchange() override;

  /// All messages of a call are one operation of NCCL, which is done when all of them are.
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  void drop() noexcept override;

 private:
  struct OnItsWay {
    int32_t peer = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };

  c10::intrusive_ptr<c10d::Backend> group_;
  std::map<Ticket, OnItsWay> on_its_way_;
  Ticket next_ticket_ = 0;
};

}  // namespace headroom
