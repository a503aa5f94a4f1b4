#pragma once

#include <nanobind/nanobind.h>

#include "decoder/exchange/exchange.h"

namespace headroom::python {

/// Ranks that Python knows: an object with post(sends, receives), wait(ticket), gather(own, all, count),
/// abandon(why) and drop(), as headroom/group_exchange.py has it. Addresses and bytes go there as numbers.
/// What it raises becomes an ExchangeError of its first line, but for what is no Exception, such as
/// KeyboardInterrupt. Calls come without the GIL.
class PythonExchange final : public Exchange {
 public:
  /// Needs the GIL.
  explicit PythonExchange(nanobind::object ranks);
  ~PythonExchange() override;

  int32_t rank() const override { return rank_; }
  int32_t size() const override { return size_; }
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override;
  void wait(Ticket ticket) override;
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override;
  void abandon(const char* why) noexcept override;
  void drop() noexcept override;

 private:
  nanobind::object ranks_;
  const int32_t rank_, size_;
};

}  // namespace headroom::python
