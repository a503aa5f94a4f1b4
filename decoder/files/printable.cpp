#include "decoder/files/printable.h"

namespace headroom {
namespace {

constexpr size_t kLongest = 160;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}
bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

}  // namespace

std::string printable(std::string_view text) {
  size_t length = text.size();
  if (length > kLongest) {
    length = kLongest;
    while (length > 0 && continues_character(text[length])) --length;
  }
  std::string result(text.substr(0, length));
  for (char& c : result) {
    if (is_control(c)) c = '?';
  }
  return length < text.size() ? result + "..." : result;
}

std::string printable(const std::vector<int64_t>& shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i) result += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return result + "]";
}

}  // namespace headroom
