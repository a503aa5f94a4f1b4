#pragma once

#include <map>
#include <stdexcept>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "tests/emulated_gpu/accesses.h"
#include "tests/support/forwarding_gpu.h"

// An exchange that accesses an emulated GPU's memory directly, as NCCL does. Between post() and wait(), the
// GPU may not touch receive buffers, and may only read send buffers. Tests fail on any other access.
namespace headroom::test {

/// A GPU that checks each access against the buffers lent to the network.
class LendingGpu final : public ForwardingGpu {
 public:
  using ForwardingGpu::ForwardingGpu;

  void lend(Exchange::Ticket ticket, const Message& message, bool received) {
    for (const Span& span : message.spans) {
      lent_[ticket].push_back({static_cast<const std::byte*>(span.data), span.bytes, received});
    }
  }
  void take_back(Exchange::Ticket ticket) { lent_.erase(ticket); }
  void forget_lent() { lent_.clear(); }

  void run(const gpu::Call& call) override {
    for (const gpu::Access& access : gpu::accesses_of(call)) check(access);
    gpu_.run(call);
  }
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    check({static_cast<const std::byte*>(from), bytes, false});
    check({static_cast<std::byte*>(to), bytes, true});
    gpu_.copy(stream, to, from, bytes);
  }
  void clear(void* memory, int64_t bytes) override {
    check({static_cast<std::byte*>(memory), bytes, true});
    gpu_.clear(memory, bytes);
  }

 private:
  void check(const gpu::Access& access) const {
    for (const auto& [ticket, spans] : lent_) {
      for (const gpu::Access& span : spans) {
        const bool touch = access.begin < span.begin + span.bytes && span.begin < access.begin + access.bytes;
        if (touch && span.writes) throw std::logic_error("touches rows that have not come yet");
        if (touch && access.writes) throw std::logic_error("writes rows that have not gone yet");
      }
    }
  }

  std::map<Exchange::Ticket, std::vector<gpu::Access>> lent_;  ///< `writes` is true for receive buffers
};

/// Passes device memory to a network that can read it, and reports the loan to the GPU.
class DeviceMemoryExchange : public Exchange {
 public:
  DeviceMemoryExchange(Exchange& network, LendingGpu& gpu) : network_(network), gpu_(gpu) {}
  ~DeviceMemoryExchange() override { gpu_.forget_lent(); }
  int32_t rank() const override { return network_.rank(); }
  int32_t size() const override { return network_.size(); }
  bool takes_device_memory() const override { return true; }
  Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) override {
    const Posted posted = network_.post(sends, receives);
    for (size_t i = 0; i < sends.size(); ++i) {
      if (sends[i].on_device) gpu_.lend(posted.sends[i], sends[i], false);
    }
    for (size_t i = 0; i < receives.size(); ++i) {
      if (receives[i].on_device) gpu_.lend(posted.receives[i], receives[i], true);
    }
    for (const Message& message : sends) count_sent(bytes_of(message));
    return posted;
  }
  void wait(Ticket ticket) override {
    network_.wait(ticket);
    gpu_.take_back(ticket);
  }
  std::vector<std::vector<double>> gather(const std::vector<double>& own) override {
    count_sent(static_cast<int64_t>(own.size() * sizeof(double)) * (size() - 1));
    return network_.gather(own);
  }
  void abandon(const char* why) noexcept override {
    network_.abandon(why);
    gpu_.forget_lent();
  }
  void drop() noexcept override {
    network_.drop();
    gpu_.forget_lent();
  }

 private:
  Exchange& network_;
  LendingGpu& gpu_;
};

}  // namespace headroom::test
