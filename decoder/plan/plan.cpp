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

const char* name_of(ConvolutionAlgorithm form) {
  return form == ConvolutionAlgorithm::direct ? "direct" : "winograd";
}

std::vector<ConvolutionAlgorithm> algorithms_on(DeviceKind device) {
  if (device == DeviceKind::cuda) return {ConvolutionAlgorithm::direct};
  return {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd};
}

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::gather:
      return "gather";
    case StepKind::norm:
      return "norm";
    case StepKind::upsample:
      return "upsample";
    case StepKind::conv:
      return "conv";
    case StepKind::add:
      return "add";
    case StepKind::attention:
      return "attention";
    case StepKind::interpolate:
      return "interpolate";
    case StepKind::unfold_frames:
      return "unfold_frames";
    case StepKind::rms_norm:
      return "pixel_norm";
    case StepKind::gate:
      return "gate";
    case StepKind::depth_to_space:
      return "shuffle";
    case StepKind::linear_attention:
      return "linear_attention";
    case StepKind::statistics:
      return "statistics";
    case StepKind::key_value_sums:
      return "key_value_sums";
    case StepKind::store:
      return "store";
    case StepKind::accumulate:
      return "accumulate";
    case StepKind::emit:
      return "emit";
  }
  return "?";
}

bool makes_tile(StepKind kind) {
  return !takes_statistics(kind) && kind != StepKind::store && kind != StepKind::accumulate &&
         kind != StepKind::emit;
}

bool takes_statistics(StepKind kind) {
  return kind == StepKind::statistics || kind == StepKind::key_value_sums;
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
