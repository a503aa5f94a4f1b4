#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/interpreter/events.h"
#include "decoder/session/resident_limit.h"

namespace headroom {

/// Wraps an exchange. Times and reports its calls, and checks the process's memory limit after each. The
/// wrapped objects must outlive this one.
class WatchedExchange final : public Exchange {
 public:
  /// `limit` may be null.
  WatchedExchange(Exchange& exchange, EventSink& events, ResidentLimit* limit)
      : exchange_(exchange), events_(events), limit_(limit) {}

  int32_t rank() const override { return exchange_.rank(); }
  int32_t size() const override { return exchange_.size(); }
  bool takes_device_memory() const override { return exchange_.takes_device_memory(); }
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override;
  void working() noexcept override { exchange_.working(); }
  void abandon(const char* why) noexcept override { exchange_.abandon(why); }
  void drop() noexcept override { exchange_.drop(); }

 private:
  template <typename Call>
  auto watched(ExchangeCall kind, const Call& call);

  Exchange& exchange_;
  EventSink& events_;
  ResidentLimit* limit_;
};

}  // namespace headroom
