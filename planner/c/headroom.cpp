#include "planner/c/headroom.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/weights/open_model.h"
#include "planner/explain/untiled_peak.h"
#include "planner/explain/why_not.h"
#include "planner/search/configurations.h"
#include "planner/search/finish_plan.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

/// Larger than any decode needs. Small enough that adding bytes cannot overflow.
constexpr int64_t kNoLimit = int64_t{1} << 60;

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

/// A question, with its model and its planner.
class PlannerOfQuestion {
 public:
  explicit PlannerOfQuestion(const headroom_question& question)
      : model_(for_frames(model_of(question), count_of("frames", question.frames))),
        request_{or_else(question.model, ""),
                 question.width_pixels,
                 question.height_pixels,
                 count_of("frames", question.frames),
                 count_of("batch", question.batch),
                 decoding_dtype(model_, parse_dtype(or_else(question.dtype, "fp32"))),
                 parse_device(or_else(question.device, "cpu"))},
        costs_(model_.graph, request_.device) {
    if (question.limit_bytes < 0)
      throw InputError("limit_bytes: expected 0 or more, found " + std::to_string(question.limit_bytes));
    if (or_else(question.model, "")[0] == '{') request_.model = model_.class_name;
    latent_extent(model_, request_.width_pixels, request_.height_pixels, request_.frames);
    options_.limit_bytes = question.limit_bytes == 0 ? kNoLimit : question.limit_bytes;
  }

  const Graph& graph() const { return model_.graph; }
  Problem problem() const { return {model_, request_, options_, costs_}; }
  int64_t untiled_bytes() const { return untiled_peak(model_, request_, costs_).bytes; }
  int64_t smallest_bytes() const {
    return smallest_plan(problem(), spaces_of(problem())).predicted_peak_bytes;
  }
  /// The fastest plan. Without a requested limit, the limit becomes the plan's peak.
  Plan plan() const {
    Plan found = plan_or_explain(problem());
    if (options_.limit_bytes == kNoLimit) found.limit_bytes = found.predicted_peak_bytes;
    return found;
  }

 private:
  Model model_;
  Request request_;
  CostModel costs_;
  PlanOptions options_;
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
    const PlannerOfQuestion asked(*question);
    prediction->untiled_bytes = asked.untiled_bytes();
    prediction->smallest_bytes = asked.smallest_bytes();
    const Plan plan = asked.plan();
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
    const PlannerOfQuestion asked(*question);
    const std::string text = plan_text(asked.plan(), asked.graph());
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
