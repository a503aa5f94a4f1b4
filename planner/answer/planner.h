#pragma once

#include <optional>

#include "decoder/graph/model.h"
#include "planner/answer/question.h"
#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// Costs of the question's steps. Throws InputError if its profile is of another model, request or machine.
CostModel costs_of(const Graph& graph, const Question& question);

/// Answers one question: plans and predictions. Each call searches anew.
class Planner {
 public:
  /// `model` must be the model for the question's request (model_for()), and must outlive this object. Throws
  /// InputError if the model does not have the requested size, and like costs_of().
  Planner(const Model& model, Question question);

  const Model& model() const { return model_; }
  const Question& question() const { return question_; }
  const CostModel& costs() const { return costs_; }
  /// The question in the form of the search. This object must outlive it.
  Problem problem() const { return {model_, question_.request, question_.options, costs_}; }
  Problem problem_under(int64_t limit_bytes) const;

  /// The fastest plan within the limits. If the limit is kNoLimit, the plan's own peak becomes its limit.
  /// Throws NothingFits with the reason, NoPlanInTime, and InputError if the profile does not cover the
  /// plan's tiles.
  Plan fastest() const;
  /// Like fastest(), but under another limit, empty if nothing fits, and without the check of the profile.
  std::optional<Plan> fastest_if_any(int64_t limit_bytes) const;
  /// The plan that takes the least memory, whatever the limit.
  Plan smallest() const;
  /// Throws InputError if the question's profile does not cover the plan's tiles.
  void check_range(const Plan& plan) const;

 private:
  const Model& model_;
  Question question_;
  CostModel costs_;
};

}  // namespace headroom::planner
