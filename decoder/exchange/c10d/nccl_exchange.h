#pragma once

#include <map>
#include <vector>

#include "decoder/exchange/c10d/gloo_exchange.h"

namespace headroom {

/// Between GPUs: NCCL, on the device that is current when it is opened. What is sent of its memory must have
/// been computed when it is posted. What lies in the host's memory goes by Gloo, and so do gathered values.
class NcclExchange final : public GlooExchange {
 public:
  explicit NcclExchange(const ExchangeOptions& options);
  ~NcclExchange() override;

  bool takes_device_memory() const override { return true; }
  /// All messages of a call that lie on the device are one operation of NCCL, done when all of them are.
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  void drop() noexcept override;

 private:
  struct OnItsWay {
    int32_t peer = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };

  /// With all ranks. Later on those that exchange nothing would be waited for.
  void connect();
  c10::intrusive_ptr<c10d::Work> move(const std::vector<const Message*>& sends,
                                      const std::vector<const Message*>& receives);

  c10::intrusive_ptr<c10d::Backend> group_;
  std::map<Ticket, OnItsWay> on_its_way_;
  Ticket next_ticket_ = -1;  ///< below zero, as those of Gloo are not
};

}  // namespace headroom
