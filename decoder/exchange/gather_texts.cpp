#include "decoder/exchange/gather_texts.h"

#include <algorithm>
#include <cstdint>

namespace headroom {
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

}  // namespace headroom
