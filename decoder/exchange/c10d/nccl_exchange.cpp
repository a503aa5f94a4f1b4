#include "decoder/exchange/c10d/nccl_exchange.h"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace headroom {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

constexpr std::chrono::microseconds kBetweenQueries{20};

c10::intrusive_ptr<c10d::Backend> open_nccl(const ExchangeOptions& options,
                                            const c10::intrusive_ptr<c10d::Store>& store) {
  // Else c10d's own watchdog ends the process where a rank has failed, before this rank can say why.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  at::globalContext().lazyInitDevice(at::kCUDA);
  const auto group = Nccl::Options::create();
  group->timeout = std::chrono::hours(24 * 365);  // ranks judge each other's silence
  return c10::make_intrusive<Nccl>(c10::make_intrusive<c10d::PrefixStore>("nccl", store), options.ranks.rank,
                                   options.ranks.ranks, group);
}

at::Tensor on_device(const Span& span) {
  return at::from_blob(span.data, {span.bytes},
                       at::device({at::kCUDA, c10::cuda::current_device()}).dtype(at::kByte));
}

}  // namespace

NcclExchange::NcclExchange(const ExchangeOptions& options) : GlooExchange(options) {
  try {
    group_ = open_nccl(options, backend_store());
  } catch (const std::exception& error) {
    fail_to_open(error);
  }
}

NcclExchange::~NcclExchange() {
  NcclExchange::drop();
  leave();  // while NCCL's connections are still there for the others
}

Exchange::Posted NcclExchange::post(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  Posted posted;
  if (sends.empty() && receives.empty()) return posted;
  const int32_t a_peer = sends.empty() ? receives.front().peer : sends.front().peer;
  c10::intrusive_ptr<c10d::Work> work;
  const auto each = [](const Message& message, const auto& move) {
    for (const Span& span : message.spans) {
      if (span.bytes == 0) continue;
      std::vector<at::Tensor> bytes{on_device(span)};
      move(bytes, message.peer);
    }
  };
  attempt(a_peer, [&] {
    group_->startCoalescing();
    for (const Message& message : receives)
      each(message, [&](std::vector<at::Tensor>& bytes, int32_t peer) { group_->recv(bytes, peer, 0); });
    for (const Message& message : sends)
      each(message, [&](std::vector<at::Tensor>& bytes, int32_t peer) { group_->send(bytes, peer, 0); });
    work = group_->endCoalescing();
  });
  const auto add = [&](const Message& message) {
    on_its_way_.emplace(next_ticket_, OnItsWay{message.peer, work});
    return next_ticket_++;
  };
  for (const Message& message : sends) {
    posted.sends.push_back(add(message));
    count_sent(bytes_of(message));
  }
  for (const Message& message : receives) posted.receives.push_back(add(message));
  return posted;
}

void NcclExchange::wait(Ticket ticket) {
  const OnItsWay message = std::exchange(on_its_way_.at(ticket), OnItsWay{});
  on_its_way_.erase(ticket);
  std::atomic<bool> stopped = false;
  wait_for(
      message.peer,
      [&] {
        while (message.work && !message.work->isCompleted()) {
          if (stopped) return false;
          std::this_thread::sleep_for(kBetweenQueries);
        }
        if (message.work && message.work->exception()) std::rethrow_exception(message.work->exception());
        return true;
      },
      [&] { stopped = true; });
}

void NcclExchange::drop() noexcept {
  GlooExchange::drop();
  if (on_its_way_.empty()) return;
  on_its_way_.clear();
  try {
    group_->abort();  // its kernels wait on the device, beside the memory that is to go
  } catch (const std::exception&) {
    // The device has failed too.
  }
}

}  // namespace headroom
