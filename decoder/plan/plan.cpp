#include "decoder/plan/plan.h"

#include <algorithm>
#include <utility>

#include "decoder/base/errors.h"

namespace headroom {

std::string arithmetic_of(const Request& request) {
  return std::string(name_of(request.dtype)) + after_dtype(request.tf32);
}

std::string rounding_of(const Request& request) {
  if (request.dtype != Dtype::fp32) return name_of(request.dtype);
  return request.tf32.any() ? "TF32" : "";
}

std::string wrong_tf32(const Request& request) {
  if (!request.tf32.any() || (request.dtype == Dtype::fp32 && device_record(request.device).has_tf32))
    return "";
  return std::string("TF32 needs fp32 on cuda, found ") + name_of(request.dtype) + " on " +
         name_of(request.device);
}

void set_direction(Request& request, Direction direction) {
  request.direction = direction;
  request.picture_dtype = encodes(direction) ? std::optional(Dtype::fp32) : std::nullopt;
}

bool makes_tile(const Step& step) {
  return makes_tile(step.kind) && step.target == StepTarget::tile;
}

bool takes_over(const Pass& pass, const Step& step) {
  const auto has_earlier = [&](Axis axis) { return pass.carries(axis) && at(step.halo.before, axis) > 0; };
  return step.kind == OpKind::add && !has_earlier(Axis::t) && !has_earlier(Axis::y);
}

bool acquires_blocks(const Step& step) {
  return step.kind == OpKind::store || step.target == StepTarget::blocks;
}

bool is_residual(const Step& step, size_t input) {
  return step.add != OpId{-1} && input + 1 == step.inputs.size();
}

const char* name_of(StepTarget target) {
  switch (target) {
    case StepTarget::tile:
      return "tile";
    case StepTarget::blocks:
      return "blocks";
    case StepTarget::in_place:
      return "in_place";
  }
  return "?";
}

TensorId measured_tensor(const Step& step) {
  return takes_statistics(step.kind) ? step.inputs[0].tensor : step.tensor;
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

int64_t Plans::peak_bytes() const {
  int64_t peak = 0;
  for (const Plan& own : plans) peak = std::max(peak, own.predicted_peak_bytes);
  return peak;
}

int64_t Plans::sent_bytes() const {
  int64_t total = 0;
  for (const SentBytes& of_rank : sent) total += of_rank.total();
  return total;
}

Plans alone(Plan plan) {
  Plans plans;
  plans.request = plan.request;
  plans.predicted_seconds = plan.predicted_seconds;
  plans.plans.push_back(std::move(plan));
  return plans;
}

}  // namespace headroom
