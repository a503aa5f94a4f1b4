#include "decoder/exchange/exchange.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "decoder/base/fnv_hash.h"

namespace headroom {
int64_t bytes_of(const Message& message) {
  return std::accumulate(message.spans.begin(), message.spans.end(), int64_t{0},
                         [](int64_t sum, const Span& span) { return sum + span.bytes; });
}

namespace {

/// A double holds an integer of 6 bytes exactly.
constexpr size_t kBytesOfValue = 6;
constexpr double kLongest = double(int64_t{1} << 30);
constexpr size_t kMostValues = 16'384;  ///< values per gather() call
constexpr size_t kMostBytes = kBytesOfValue * kMostValues;

/// Packs six bytes into each value, lowest first, and pads with zeros.
std::vector<double> packed(const std::string& text, size_t begin, size_t values) {
  std::vector<double> packed(values);
  for (size_t i = 0; i < values; ++i) {
    uint64_t bits = 0;
    for (size_t byte = 0; byte < kBytesOfValue; ++byte) {
      const size_t at = begin + i * kBytesOfValue + byte;
      if (at < text.size()) bits |= uint64_t{static_cast<unsigned char>(text[at])} << (8 * byte);
    }
    packed[i] = double(bits);
  }
  return packed;
}

/// Appends at most `bytes` bytes to `text`.
void unpack(const std::vector<double>& values, size_t bytes, std::string& text) {
  for (size_t at = 0; at < std::min(bytes, values.size() * kBytesOfValue); ++at) {
    const auto bits = static_cast<uint64_t>(values[at / kBytesOfValue]);
    text += static_cast<char>(bits >> (8 * (at % kBytesOfValue)) & 0xff);
  }
}

}  // namespace

std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own) {
  std::vector<size_t> lengths;
  for (const std::vector<double>& values : exchange.gather({double(own.size())})) {
    if (!(values.at(0) >= 0 && values[0] <= kLongest))
      throw ExchangeError("rank " + std::to_string(lengths.size()) + " has a text of an impossible length");
    lengths.push_back(static_cast<size_t>(values[0]));
  }
  const size_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::string> texts(exchange.rank() == 0 ? lengths.size() : 0);
  for (size_t begin = 0; begin < longest; begin += kMostBytes) {
    const size_t values = (std::min(kMostBytes, longest - begin) + kBytesOfValue - 1) / kBytesOfValue;
    const std::vector<std::vector<double>> all = exchange.gather(packed(own, begin, values));
    for (size_t rank = 0; rank < texts.size(); ++rank)
      unpack(all[rank], lengths[rank] - texts[rank].size(), texts[rank]);
  }
  return texts;
}

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
