#include "decoder/exchange/agreement.h"

#include <algorithm>

#include "decoder/base/fnv_hash.h"

namespace headroom {
namespace {

constexpr size_t kShownBytes = 120;

/// A fingerprint as two numbers that a double holds exactly.
void append(std::vector<double>& values, uint64_t fingerprint) {
  values.push_back(static_cast<double>(fingerprint >> 32));
  values.push_back(static_cast<double>(fingerprint & 0xffffffffu));
}

/// Each rank's text for the error message, cut to kShownBytes. All ranks send the same number of values, as
/// gather() requires.
std::vector<std::string> gather_shown(Exchange& exchange, const std::string& own) {
  std::vector<double> characters(kShownBytes, 0.0);
  const size_t count = std::min(own.size(), kShownBytes);
  for (size_t i = 0; i < count; ++i) characters[i] = static_cast<unsigned char>(own[i]);
  std::vector<std::string> all;
  for (const std::vector<double>& values : exchange.gather(characters)) {
    std::string& text = all.emplace_back();
    for (size_t i = 0; i < values.size() && values[i] > 0; ++i) text += static_cast<char>(values[i]);
  }
  return all;
}

void agree_on(Exchange& exchange, const std::vector<Agreed>& things) {
  std::vector<double> own;
  for (const Agreed& thing : things) append(own, fnv_hash(thing.value));
  const std::vector<std::vector<double>> all = exchange.gather(own);
  for (size_t i = 0; i < things.size(); ++i) {
    const auto differs = std::find_if(all.begin(), all.end(), [&](const std::vector<double>& values) {
      return values[2 * i] != all[0][2 * i] || values[2 * i + 1] != all[0][2 * i + 1];
    });
    if (differs == all.end()) continue;
    const auto rank = static_cast<size_t>(differs - all.begin());
    // All ranks compare the same values, so all of them reach this gather.
    const std::vector<std::string> shown = gather_shown(exchange, things[i].shown);
    std::string line = "rank " + std::to_string(rank) + " has another " + things[i].what + " than rank 0";
    if (!shown[rank].empty() && shown[rank] != shown[0])
      line += ": " + shown[rank] + " rather than " + shown[0];
    throw ExchangeError(line);
  }
}

}  // namespace

void agree(Exchange& exchange, const std::vector<Agreed>& things) {
  agree_on(exchange, {{"version of Headroom", HEADROOM_VERSION, HEADROOM_VERSION}});
  agree_on(exchange, things);
}

}  // namespace headroom
