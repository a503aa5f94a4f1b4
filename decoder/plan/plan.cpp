#include "decoder/plan/plan.h"

#include "decoder/graph/errors.h"

namespace headroom {

const char* name_of(DeviceKind device) {
  switch (device) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
  }
  return "?";
}

DeviceKind parse_device(const std::string& text) {
  for (DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    if (text == name_of(device)) return device;
  }
  throw InputError("--device: expected cpu or cuda, found '" + text + "'");
}

const char* name_of(ConvolutionAlgorithm algorithm) {
  return algorithm == ConvolutionAlgorithm::direct ? "direct" : "winograd";
}

std::vector<ConvolutionAlgorithm> algorithms_on(DeviceKind device) {
  if (device == DeviceKind::cuda) return {ConvolutionAlgorithm::direct};
  return {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd};
}

TensorId measured_tensor(const Step& step) {
  return takes_statistics(step.kind) ? step.inputs[0].tensor : step.tensor;
}

const char* name_of(MemoryTier tier) {
  switch (tier) {
    case MemoryTier::device:
      return "device";
    case MemoryTier::host:
      return "host";
    case MemoryTier::scratch:
      return "scratch";
  }
  return "?";
}

const char* name_of(WeightResidency residency) {
  switch (residency) {
    case WeightResidency::resident:
      return "resident";
    case WeightResidency::per_pass:
      return "per_pass";
  }
  return "?";
}

}  // namespace headroom
