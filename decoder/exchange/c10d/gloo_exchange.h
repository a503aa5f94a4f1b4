#pragma once

#include <map>
#include <vector>

#include "decoder/exchange/c10d/c10d_exchange.h"

namespace headroom {

/// Exchange between CPUs with Gloo over TCP. Each span is sent as a separate Gloo message, without a copy.
class GlooExchange : public C10dExchange {
 public:
  explicit GlooExchange(const ExchangeOptions& options);
  ~GlooExchange() override;

  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override;
  void drop() noexcept override { pending_.clear(); }

 private:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;
  struct Pending {
    int32_t peer = 0;
    Works works;
  };
  Ticket begin(const Message& message, bool sending);

  c10::intrusive_ptr<c10d::Backend> group_;
  std::map<Ticket, Pending> pending_;
  Ticket next_ticket_ = 0;
  std::vector<int32_t> sent_, received_;  ///< spans so far by peer; the next span's tag
};

}  // namespace headroom
