#pragma once

#include <map>
#include <vector>

#include "decoder/exchange/c10d/gloo_exchange.h"

namespace headroom {

/// Exchange between GPUs with NCCL, on the device that is current at construction. GPU memory must be fully
/// computed before it is posted. Messages in host memory and gathered values use Gloo.
class NcclExchange final : public GlooExchange {
 public:
  explicit NcclExchange(const ExchangeOptions& options);
  ~NcclExchange() override;

  bool takes_device_memory() const override { return true; }
  /// All device messages of one call form a single NCCL operation. Each completes when all complete.
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  void drop() noexcept override;

 private:
  struct OnItsWay {
    int32_t peer = 0;
    c10::intrusive_ptr<c10d::Work> work;
  };

  /// Connects all ranks now. Connecting later would block on ranks that exchange nothing.
  void connect();
  c10::intrusive_ptr<c10d::Work> move(const std::vector<const Message*>& sends,
                                      const std::vector<const Message*>& receives);

  c10::intrusive_ptr<c10d::Backend> group_;
  std::map<Ticket, OnItsWay> on_its_way_;
  Ticket next_ticket_ = -1;  ///< negative, to differ from Gloo's tickets
};

}  // namespace headroom
