#include "planner/c/headroom.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/weights/open_model.h"
#include "planner/answer/planner.h"
#include "planner/explain/peak.h"

namespace headroom::planner {
namespace {

const char* or_else(const char* given, const char* otherwise) {
  return given == nullptr ? otherwise : given;
}

Model model_of(const headroom_question& question) {
  if (question.model == nullptr) throw InputError("model: missing");
  const std::string argument = question.model;
  return argument.starts_with("{") ? parse_model(argument, "model") : open_model(argument);
}

/// A count of at least 1. 0 means 1.
int64_t count_of(const char* name, int64_t given) {
  if (given < 0)
    throw InputError(std::string(name) + ": expected at least 1, found " + std::to_string(given));
  return std::max<int64_t>(1, given);
}

Question question_of(const headroom_question& asked, const Model& model) {
  Question question{.request = {or_else(asked.model, ""), asked.width_pixels, asked.height_pixels,
                                count_of("frames", asked.frames), count_of("batch", asked.batch),
                                decoding_dtype(model, parse_dtype(or_else(asked.dtype, "fp32"))),
                                parse_device(or_else(asked.device, "cpu"))}};
  if (asked.limit_bytes < 0)
    throw InputError("limit_bytes: expected 0 or more, found " + std::to_string(asked.limit_bytes));
  if (or_else(asked.model, "")[0] == '{') question.request.model = model.class_name;
  question.options.limit_bytes = asked.limit_bytes == 0 ? kNoLimit : asked.limit_bytes;
  return question;
}

/// The model and the planner of a question.
struct Asked {
  explicit Asked(const headroom_question& question)
      : model(for_frames(model_of(question), count_of("frames", question.frames))),
        planner(model, question_of(question, model)) {}
  const Model model;
  const Planner planner;
};

/// Runs `body` and turns its exceptions into a status and a message.
int guarded(char* message, size_t message_bytes, const std::function<void()>& body) noexcept {
  const auto say = [&](int status, const char* what) {
    if (message == nullptr || message_bytes == 0) return status;
    const size_t length = std::min(std::strlen(what), message_bytes - 1);
    std::memcpy(message, what, length);
    message[length] = 0;
    return status;
  };
  try {
    body();
    return say(HEADROOM_DONE, "");
  } catch (const InputError& error) {
    return say(HEADROOM_BAD_INPUT, one_line(error.what()).c_str());
  } catch (const DoesNotFit& error) {
    return say(HEADROOM_DOES_NOT_FIT, one_line(error.what()).c_str());
  } catch (const std::bad_alloc&) {
    return say(HEADROOM_FAILURE, "out of memory");
  } catch (const std::exception& error) {
    return say(HEADROOM_FAILURE, error.what());
  }
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw InputError(std::string(name) + ": expected a pointer, found NULL");
}

}  // namespace
}  // namespace headroom::planner

using namespace headroom;
using namespace headroom::planner;

int headroom_predict(const headroom_question* question, headroom_prediction* prediction, char* message,
                     size_t message_bytes) {
  return guarded(message, message_bytes, [&] {
    require(question, "question");
    require(prediction, "prediction");
    *prediction = {};
    const Asked asked(*question);
    const Planner& planner = asked.planner;
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
    const std::string text = plan_text(asked.planner.fastest(), asked.model.graph);
    *plan_json = new char[text.size() + 1];
    std::memcpy(*plan_json, text.c_str(), text.size() + 1);
  });
}

void headroom_free(char* text) {
  delete[] text;
}

const char* headroom_version() {
  return HEADROOM_VERSION;
}
