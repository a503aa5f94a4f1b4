#include "decoder/devices/device_name.h"

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
  const DeviceRecord& record = device_record(device.kind);
  return record.is_numbered ? std::string(record.name) + ":" + std::to_string(device.index) : record.name;
}

DeviceName parse_device_name(const std::string& text) {
  const size_t colon = text.find(':');
  const int index = colon == std::string::npos ? 0 : number_in(text.substr(colon + 1));
  const DeviceRecord* record = find_device(text.substr(0, colon));
  if (record != nullptr && (colon == std::string::npos || (record->is_numbered && index >= 0)))
    return {record->kind, index};
  throw InputError("--device: expected cpu, cuda or cuda:N, found '" + text + "'");
}

void check_device(const std::optional<DeviceName>& device, const std::string& file, DeviceKind planned) {
  if (!device || device->kind == planned) return;
  throw InputError("--device: " + file + " is planned for " + name_of(planned) + ", found " +
                   text_of(*device));
}

}  // namespace headroom
