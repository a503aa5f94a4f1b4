#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The plan for people: a tree of passes with what each reads, runs and keeps, its tiles, predicted peak and time, in
/// the manner of a database's EXPLAIN.
/// "optimal", or how far from the proven bound.
std::string proof_text(const Plan& plan);

std::string explain(const Plan& plan, const Model& model);

}  // namespace headroom
