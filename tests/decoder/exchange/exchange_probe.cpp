#include <csignal>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/exchange/open_exchange.h"

// One rank of tests/decoder/exchange/c10d_exchange_test.cpp: does what its words say, and ends as programs
// do, with one line and exit code 5, where another rank has failed.
//
//     exchange_probe SECONDS (messages | rounds | endless | nccl)
//     exchange_probe SECONDS (kill | abandon | idle | slow | busy) RANK
//     exchange_probe SECONDS agree WORD...
namespace {

using namespace headroom;

constexpr int32_t kRounds = 3;
const std::vector<int64_t> kSpanBytes = {7, 0, 40'000, 3'000'000, 1};

uint8_t byte_of(int32_t from, int32_t to, int32_t round, size_t span, int64_t at) {
  return static_cast<uint8_t>(from * 31 + to * 17 + round * 7 + static_cast<int32_t>(span) * 3 + at * 5);
}

struct Buffers {
  int32_t peer;
  std::vector<std::vector<uint8_t>> spans;
  Message message() {
    Message result{peer, {}};
    for (std::vector<uint8_t>& span : spans)
      result.spans.push_back({span.data(), static_cast<int64_t>(span.size())});
    return result;
  }
};

/// Several messages of several spans between every two ranks, waited for from the last to the first.
void check_messages(Exchange& exchange) {
  std::vector<Buffers> sent, received;
  const int32_t own = exchange.rank();
  std::vector<Exchange::Ticket> tickets;
  sent.reserve(100), received.reserve(100);
  for (int32_t round = 0; round < kRounds; ++round) {
    std::vector<Message> sends, receives;
    for (int32_t peer = 0; peer < exchange.size(); ++peer) {
      if (peer == own) continue;
      Buffers &out = sent.emplace_back(), &in = received.emplace_back();
      out.peer = in.peer = peer;
      for (size_t i = 0; i < kSpanBytes.size(); ++i) {
        std::vector<uint8_t>& bytes = out.spans.emplace_back(static_cast<size_t>(kSpanBytes[i]));
        for (size_t at = 0; at < bytes.size(); ++at)
          bytes[at] = byte_of(own, peer, round, i, static_cast<int64_t>(at));
        in.spans.emplace_back(bytes.size());
      }
      sends.push_back(out.message());
      receives.push_back(in.message());
    }
    const Exchange::Posted posted = exchange.post(sends, receives);
    tickets.insert(tickets.end(), posted.sends.begin(), posted.sends.end());
    tickets.insert(tickets.end(), posted.receives.begin(), posted.receives.end());
  }
  for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket) exchange.wait(*ticket);
  int64_t wrong = 0;
  for (size_t i = 0; i < received.size(); ++i) {
    const auto round = static_cast<int32_t>(i) / (exchange.size() - 1);
    for (size_t span = 0; span < kSpanBytes.size(); ++span) {
      for (size_t at = 0; at < received[i].spans[span].size(); ++at)
        wrong += received[i].spans[span][at] !=
                 byte_of(received[i].peer, own, round, span, static_cast<int64_t>(at));
    }
  }
  std::cout << "wrong bytes: " << wrong << std::endl;
  const std::vector<std::vector<double>> all = exchange.gather({own + 0.25, 1.0 / (own + 3)});
  std::cout << "gathered:";
  for (const std::vector<double>& values : all) {
    for (const double value : values) std::cout << ' ' << value;
  }
  std::cout << "\nsent bytes: " << exchange.sent_bytes() << std::endl;
}

/// Each rank hands a row to the next, over and over; what this one does in the fourth round is up to
/// `special`.
template <typename Special>
void rounds(Exchange& exchange, int32_t count, const Special& special) {
  const int32_t next = (exchange.rank() + 1) % exchange.size();
  const int32_t before = (exchange.rank() + exchange.size() - 1) % exchange.size();
  std::vector<uint8_t> out(1'000'000, 1), in(1'000'000);
  for (int32_t round = 0; round < count; ++round) {
    const Exchange::Posted posted =
        exchange.post({{next, {{out.data(), 1'000'000}}}}, {{before, {{in.data(), 1'000'000}}}});
    if (round == 3) special();
    exchange.wait(posted.receives[0]);
    exchange.wait(posted.sends[0]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  exchange.gather({1.0});
}

void run(Exchange& exchange, const std::vector<std::string>& words, double seconds) {
  const std::string& mode = words.at(0);
  if (mode == "nccl") return;
  if (mode == "messages") return check_messages(exchange);
  if (mode == "agree") {
    const std::string& mine = words.at(1 + static_cast<size_t>(exchange.rank()));
    return agree(exchange, {{"latent", "same", "same"}, {"plan", mine, mine + ".json"}});
  }
  const bool chosen = words.size() > 1 && std::stoi(words[1]) == exchange.rank();
  std::cout << "runs" << std::endl;
  rounds(exchange, mode == "rounds" || mode == "slow" || mode == "busy" ? 6 : 100'000, [&] {
    if (!chosen) return;
    if (mode == "kill") raise(SIGKILL);
    if (mode == "abandon") {
      exchange.drop();  // as buffers go now
      throw std::runtime_error("no memory left");
    }
    if (mode == "idle") std::this_thread::sleep_for(std::chrono::seconds(3600));
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(3 * seconds);
    while (mode == "busy" && std::chrono::steady_clock::now() < end) {
    }
    for (int i = 0; i < 30 && mode == "slow"; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 10));
      exchange.working();
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    ExchangeOptions options;
    options.ranks = rank_environment().value();
    options.timeout_seconds = std::stod(words.at(0));
    std::string module = HEADROOM_C10D_MODULE;
    if (words.at(1) == "nccl") {
      options.kind = ExchangeKind::nccl;
      module.replace(module.rfind(".so"), 3, "-nccl.so");
    }
    const std::unique_ptr<Exchange> exchange = open_exchange(options, {module});
    try {
      run(*exchange, {words.begin() + 1, words.end()}, options.timeout_seconds);
    } catch (const std::exception& error) {
      exchange->abandon(error.what());
      throw;
    }
  } catch (const std::exception& error) {
    std::cout << "probe: " << error.what() << std::endl;
    return 5;
  }
  std::cout << "done" << std::endl;
  return 0;
}
