#include "planner/c/headroom.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/plan/plan_file.h"
#include "decoder/schedule/build_plan.h"
#include "planner/answer/planner.h"
#include "planner/c/asked.h"
#include "planner/c/guard.h"
#include "planner/explain/peak.h"

using namespace headroom;
using namespace headroom::planner;

int headroom_predict(const headroom_question* question, headroom_prediction* prediction, char* message,
                     size_t message_bytes) {
  return guarded(message, message_bytes, [&] {
    require(question, "question");
    require(prediction, "prediction");
    *prediction = {};
    const Asked asked(*question);
    const Planner planner(asked.model, asked.question);
    prediction->untiled_bytes = untiled_peak(asked.model, planner.question().request, planner.costs()).bytes;
    prediction->smallest_bytes = planner.smallest().predicted_peak_bytes;
    const Plan plan = planner.fastest();
    prediction->peak_bytes = plan.predicted_peak_bytes;
    prediction->seconds = plan.predicted_seconds;
    prediction->passes = static_cast<int64_t>(plan.passes.size());
  });
}

int headroom_plan(const headroom_question* question, char** plan_json, char* message, size_t message_bytes) {
  if (plan_json != nullptr) *plan_json = nullptr;
  return guarded(message, message_bytes, [&] {
    require(question, "question");
    require(plan_json, "plan_json");
    const Asked asked(*question);
    const std::string text = plan_text(Planner(asked.model, asked.question).fastest(), asked.model.graph);
    *plan_json = new char[text.size() + 1];
    std::memcpy(*plan_json, text.c_str(), text.size() + 1);
  });
}

void headroom_free(char* text) {
  delete[] text;
}

size_t headroom_message(char* text, size_t text_bytes) {
  return copy_message(text, text_bytes);
}

const char* headroom_version() {
  return HEADROOM_VERSION;
}
