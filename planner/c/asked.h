#pragma once

#include "decoder/graph/model.h"
#include "planner/answer/question.h"
#include "planner/c/headroom.h"

namespace headroom::planner {

/// The model for the direction and frames of a headroom_question, and the question to the planner.
struct Asked {
  /// Throws InputError.
  explicit Asked(const headroom_question& given);

  Model model;
  Question question;
};

/// `given`, or `otherwise` if it is null.
inline const char* or_else(const char* given, const char* otherwise) {
  return given == nullptr ? otherwise : given;
}

}  // namespace headroom::planner
