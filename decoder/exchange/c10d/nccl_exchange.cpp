#include "decoder/exchange/c10d/nccl_exchange.h"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>
#include <utility>

namespace headroom {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

constexpr std::chrono::microseconds kBetweenQueries{20};
/// NCCL connects all ranks at once, which may take longer than the timeout. So report progress meanwhile, up
/// to a limit.
constexpr std::chrono::milliseconds kWhileConnecting{20};
constexpr std::chrono::minutes kMostConnecting{5};

c10::intrusive_ptr<c10d::Backend> open_nccl(const ExchangeOptions& options,
                                            const c10::intrusive_ptr<c10d::Store>& store) {
  // Otherwise c10d's watchdog ends the process when a rank fails, before this rank can report why.
  setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 0);
  at::globalContext().lazyInitDevice(at::kCUDA);
  const auto group = Nccl::Options::create();
  group->timeout = std::chrono::hours(24 * 365);  // the judge detects silent ranks instead
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
    connect();
  } catch (const ExchangeError&) {
    throw;  // the other ranks already know
  } catch (const std::exception& error) {
    fail_to_open(error);
  }
}

void NcclExchange::connect() {
  const at::Device device(at::kCUDA, c10::cuda::current_device());
  const auto connected = std::make_shared<std::promise<void>>();
  // NCCL blocks until all ranks connect, forever if one has stopped. So connect in a detached thread, which
  // ends with the process.
  std::thread([connected, device, group = group_] {
    try {
      c10::cuda::set_device(device.index());
      group->eagerConnectSingleDevice(device);
      connected->set_value();
    } catch (...) {
      connected->set_exception(std::current_exception());
    }
  }).detach();
  std::future<void> done = connected->get_future();
  std::atomic<bool> stopped = false;
  std::exception_ptr failed;
  const auto begin = std::chrono::steady_clock::now();
  wait_for((rank() + 1) % size(),
           [&] {
             while (done.wait_for(kWhileConnecting) != std::future_status::ready) {
               if (stopped) return false;
               if (std::chrono::steady_clock::now() - begin < kMostConnecting) working();
             }
             try {
               done.get();
             } catch (...) {
               failed = std::current_exception();  // this rank's own error, not the peer's
             }
             return true;
           },
           [&] { stopped = true; });
  if (failed) std::rethrow_exception(failed);
}

NcclExchange::~NcclExchange() {
  NcclExchange::drop();
  leave();  // before NCCL's connections close, because others may need them
}

c10::intrusive_ptr<c10d::Work> NcclExchange::move(const std::vector<const Message*>& sends,
                                                  const std::vector<const Message*>& receives) {
  c10::intrusive_ptr<c10d::Work> work;
  const auto each = [](const Message& message, const auto& begin) {
    for (const Span& span : message.spans) {
      if (span.bytes == 0) continue;
      std::vector<at::Tensor> bytes{on_device(span)};
      begin(bytes, message.peer);
    }
  };
  attempt((sends.empty() ? receives : sends).front()->peer, [&] {
    group_->startCoalescing();
    for (const Message* message : receives)
      each(*message, [&](std::vector<at::Tensor>& bytes, int32_t peer) { group_->recv(bytes, peer, 0); });
    for (const Message* message : sends)
      each(*message, [&](std::vector<at::Tensor>& bytes, int32_t peer) { group_->send(bytes, peer, 0); });
    work = group_->endCoalescing();
  });
  return work;
}

Exchange::Posted NcclExchange::post(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  const auto on_devices = [](const std::vector<Message>& messages) {
    std::vector<const Message*> found;
    for (const Message& message : messages) {
      if (message.on_device) found.push_back(&message);
    }
    return found;
  };
  const auto device_sends = on_devices(sends), device_receives = on_devices(receives);
  c10::intrusive_ptr<c10d::Work> work;
  if (!device_sends.empty() || !device_receives.empty()) work = move(device_sends, device_receives);
  const auto on_its_way = [&](const Message& message) {
    on_its_way_.emplace(next_ticket_, OnItsWay{message.peer, work});
    return next_ticket_--;
  };
  Posted posted;
  for (const Message& message : receives) {
    posted.receives.push_back(message.on_device ? on_its_way(message)
                                                : GlooExchange::post({}, {message}).receives[0]);
  }
  for (const Message& message : sends) {
    posted.sends.push_back(message.on_device ? on_its_way(message)
                                             : GlooExchange::post({message}, {}).sends[0]);
    if (message.on_device) count_sent(bytes_of(message));
  }
  return posted;
}

void NcclExchange::wait(Ticket ticket) {
  if (ticket >= 0) return GlooExchange::wait(ticket);
  const auto found = on_its_way_.find(ticket);
  if (found == on_its_way_.end()) {
    require_no_failure();
    throw ExchangeError("waited twice for one message");
  }
  const OnItsWay message = found->second;
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
  on_its_way_.erase(ticket);  // last, because drop() needs the entry if the wait fails
}

void NcclExchange::drop() noexcept {
  GlooExchange::drop();
  if (on_its_way_.empty()) return;
  on_its_way_.clear();
  try {
    group_->abort();  // stop NCCL's kernels before their memory is freed
  } catch (const std::exception&) {
    // The device has failed too.
  }
}

}  // namespace headroom
