#include "decoder/plan/device_name.h"

#include <charconv>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

/// Parses a number that has digits only. Returns -1 for any other text.
int number_in(const std::string& text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

}  // namespace

std::string text_of(const DeviceName& device) {
  const std::string kind = name_of(device.kind);
  return device.kind == DeviceKind::cpu ? kind : kind + ":" + std::to_string(device.index);
}

DeviceName parse_device_name(const std::string& text) {
  if (text == name_of(DeviceKind::cpu)) return {DeviceKind::cpu, 0};
  const std::string gpu = name_of(DeviceKind::cuda), numbered = gpu + ":";
  if (text == gpu) return {DeviceKind::cuda, 0};
  if (text.compare(0, numbered.size(), numbered) == 0) {
    const int index = number_in(text.substr(numbered.size()));
    if (index >= 0) return {DeviceKind::cuda, index};
  }
  throw InputError("--device: expected cpu, cuda or cuda:N, found '" + text + "'");
}

}  // namespace headroom
