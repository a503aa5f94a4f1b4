#include <algorithm>
#include <set>

#include "decoder/plan/validator_view.h"

namespace headroom::validation {
namespace {

/// Every parameter begins on a boundary of this many bytes.
constexpr int64_t kBoundaryBytes = 64;

int64_t bytes_of(const View& view, const Op& op) {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_of(view.graph, op)) {
    int64_t bytes = bytes_per_element(view.plan.request.dtype);
    for (int64_t length : parameter.shape) bytes = multiply(bytes, length);
    sum = add(sum, multiply((bytes - 1) / kBoundaryBytes + 1, kBoundaryBytes));
  }
  return sum;
}

/// An operation's parameters are there once, however many steps of the pass carry it out.
int64_t bytes_of(const Pass& pass, const std::vector<int64_t>& by_op) {
  std::set<OpId> ops;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1}) ops.insert(step.op);
  }
  int64_t sum = 0;
  for (OpId op : ops) sum = add(sum, by_op[index(op)]);
  return sum;
}

}  // namespace

std::vector<int64_t> check_weights(View& view) {
  const Plan& plan = view.plan;
  std::vector<int64_t> by_op, by_pass;
  for (const Op& op : view.graph.ops()) by_op.push_back(bytes_of(view, op));
  int64_t needed = 0;
  if (plan.weights == WeightResidency::per_pass) {
    for (const Pass& pass : plan.passes) by_pass.push_back(bytes_of(pass, by_op));
    needed = *std::max_element(by_pass.begin(), by_pass.end());
  } else {
    for (int64_t bytes : by_op) needed = add(needed, bytes);
    by_pass.assign(plan.passes.size(), plan.weights_bytes);
  }
  if (plan.weights_bytes < needed) {
    view.findings.add(Violation::peak_understated, "weights_bytes",
                      "parameters take " + std::to_string(needed) + " bytes, found " + std::to_string(plan.weights_bytes));
  }
  return by_pass;
}

}  // namespace headroom::validation
