#include "decoder/gpu/transfers/card_parameters.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/gpu/transfers/device_arrays.h"
#include "decoder/weights/read_stored.h"

namespace headroom {
namespace {

/// Values of the arrays read last: a folded convolution reads one output after another, of up to a few
/// modules.
struct LastRead {
  static constexpr size_t kMost = 4;
  std::deque<std::pair<const DeviceArray*, std::vector<float>>> arrays;

  const std::vector<float>& values(const DeviceArray& array, HostCopies& copies) {
    const auto known =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& each) { return each.first == &array; });
    if (known != arrays.end()) return known->second;
    if (arrays.size() == kMost) arrays.pop_front();
    return arrays.emplace_back(&array, values_of(array, copies)).second;
  }
};

std::vector<std::string> names_of(const std::unordered_map<std::string, DeviceArray>& arrays) {
  std::vector<std::string> names;
  names.reserve(arrays.size());
  for (const auto& [name, array] : arrays) names.push_back(name);
  return names;
}

}  // namespace

CardParameters::CardParameters(std::string origin, std::unordered_map<std::string, DeviceArray> arrays)
    : origin_(std::move(origin)), arrays_(std::move(arrays)), names_(names_of(arrays_)) {}

std::string CardParameters::stored_name(const Parameter& parameter) const {
  if (arrays_.contains(parameter.name)) return parameter.name;
  const std::optional<std::string> stored = names_.find(parameter.name);
  if (!stored) throw InputError(origin_ + ": " + printable(parameter.name) + ": no such tensor");
  return *stored;
}

const DeviceArray& CardParameters::of(const Parameter& parameter) const {
  const std::string stored = stored_name(parameter);
  const DeviceArray& array = arrays_.at(stored);
  check_stored_shape(parameter, array.shape, origin_ + ": " + printable(stored));
  return array;
}

void CardParameters::require_all(const Graph& graph) const {
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) of(parameter);
  }
}

ParameterSource CardParameters::source(HostCopies& copies) const {
  return [this, &copies, last = std::make_shared<LastRead>()](const Parameter& parameter,
                                                              const Interval& elements, float* out) {
    const std::vector<float>& values = last->values(of(parameter), copies);
    std::copy_n(values.data() + elements.begin, elements.length(), out);
    check_finite(out, elements, origin_ + ": " + printable(stored_name(parameter)));
  };
}

}  // namespace headroom
