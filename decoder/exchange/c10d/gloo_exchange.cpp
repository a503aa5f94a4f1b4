#include "decoder/exchange/c10d/gloo_exchange.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "decoder/base/os/network.h"

namespace headroom {
namespace {

using Gloo = c10d::ProcessGroupGloo;

/// Disables Gloo's own timeout, which closes all connections.
constexpr std::chrono::hours kNever{24 * 365};
/// Tags of spans wrap around at this number. Gloo keeps messages with the same tag in order.
constexpr int32_t kTags = 1 << 20;

c10::intrusive_ptr<c10d::Backend> open_group(const ExchangeOptions& options,
                                             const c10::intrusive_ptr<c10d::Store>& store) {
  const auto group =
      Gloo::Options::create(std::chrono::milliseconds(static_cast<int64_t>(options.timeout_seconds * 1000)));
  group->threads = 1;  // only collectives use more, and there are none
  std::string interface = options.interface;
  if (const char* const name = std::getenv("GLOO_SOCKET_IFNAME"); interface.empty() && name != nullptr)
    interface = name;
  group->devices.push_back(interface.empty()
                               ? Gloo::createDeviceForHostname(local_address_towards(options.ranks.address))
                               : Gloo::createDeviceForInterface(interface));
  return c10::make_intrusive<Gloo>(store, options.ranks.rank, options.ranks.ranks, group);
}

}  // namespace

GlooExchange::GlooExchange(const ExchangeOptions& options)
    : C10dExchange(options), sent_(static_cast<size_t>(size())), received_(static_cast<size_t>(size())) {
  if (size() == 1) return;
  try {
    group_ = open_group(options, backend_store());
  } catch (const std::exception& error) {
    fail_to_open(error);
  }
}

GlooExchange::~GlooExchange() {
  GlooExchange::drop();
  leave();
}

Exchange::Posted GlooExchange::post(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  Posted posted;
  for (const Message& message : receives) posted.receives.push_back(begin(message, false));
  for (const Message& message : sends) {
    posted.sends.push_back(begin(message, true));
    count_sent(bytes_of(message));
  }
  return posted;
}

Exchange::Ticket GlooExchange::begin(const Message& message, bool sending) {
  const auto peer = static_cast<size_t>(message.peer);
  int32_t& tag = sending ? sent_.at(peer) : received_.at(peer);
  Pending pending{message.peer, {}};
  attempt(message.peer, [&] {
    for (const Span& span : message.spans) {
      if (span.bytes == 0) continue;
      std::vector<at::Tensor> bytes{at::from_blob(span.data, {span.bytes}, at::kByte)};
      pending.works.push_back(sending ? group_->send(bytes, message.peer, tag)
                                      : group_->recv(bytes, message.peer, tag));
      tag = (tag + 1) % kTags;
    }
  });
  pending_.emplace(next_ticket_, std::move(pending));
  return next_ticket_++;
}

void GlooExchange::wait(Ticket ticket) {
  const auto found = pending_.find(ticket);
  if (found == pending_.end()) {
    require_no_failure();
    throw ExchangeError("waited twice for one message");
  }
  const Works& works = found->second.works;
  wait_for(
      found->second.peer,
      [&] {
        return std::all_of(works.begin(), works.end(), [&](const auto& work) {
          const bool done = work->wait(kNever);
          working();  // each completed span is progress of a long message
          return done;
        });
      },
      [&] {
        for (const auto& work : works) work->abort();
      });
  pending_.erase(ticket);
}

std::vector<std::vector<double>> GlooExchange::gather(const std::vector<double>& own) {
  std::vector<std::vector<double>> all(static_cast<size_t>(size()), std::vector<double>(own.size()));
  all[static_cast<size_t>(rank())] = own;
  std::vector<Message> sends, receives;
  const auto bytes = static_cast<int64_t>(own.size() * sizeof(double));
  for (int32_t peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    // Send from this copy, because nothing writes to it.
    sends.push_back({peer, {{all[static_cast<size_t>(rank())].data(), bytes}}});
    receives.push_back({peer, {{all[static_cast<size_t>(peer)].data(), bytes}}});
  }
  const Posted posted = GlooExchange::post(sends, receives);
  for (const Ticket ticket : posted.receives) GlooExchange::wait(ticket);
  for (const Ticket ticket : posted.sends) GlooExchange::wait(ticket);
  return all;
}

}  // namespace headroom
