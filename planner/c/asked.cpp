#include "planner/c/asked.h"

#include <algorithm>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/devices/device_record.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/plan/requests.h"
#include "decoder/weights/open_model.h"

namespace headroom::planner {
namespace {

/// A count of at least 1. 0 means 1.
int64_t count_of(const char* name, int64_t given) {
  if (given < 0)
    throw InputError(std::string(name) + ": expected at least 1, found " + std::to_string(given));
  return std::max<int64_t>(1, given);
}

int64_t bytes_of(const char* name, int64_t given) {
  if (given < 0) throw InputError(std::string(name) + ": expected 0 or more, found " + std::to_string(given));
  return given;
}

Model model_of(const headroom_question& given) {
  if (given.model == nullptr) throw InputError("model: missing");
  const std::string argument = given.model;
  Model model = argument.starts_with("{") ? parse_model(argument, "model") : open_model(argument);
  model = for_direction(std::move(model), parse_direction(or_else(given.direction, "decode")));
  return for_frames(std::move(model), count_of("frames", given.frames));
}

}  // namespace

Asked::Asked(const headroom_question& given) : model(model_of(given)) {
  question.request = {given.model,
                      given.width_pixels,
                      given.height_pixels,
                      count_of("frames", given.frames),
                      count_of("batch", given.batch),
                      decoding_dtype(model, parse_dtype(or_else(given.dtype, "fp32"))),
                      parse_device(or_else(given.device, "cpu"))};
  if (given.model[0] == '{') question.request.model = model.class_name;
  set_direction(question.request, headroom::direction_of(model.graph));
  PlanOptions& options = question.options;
  const int64_t limit = bytes_of("limit_bytes", given.limit_bytes);
  options.limit_bytes = limit == 0 ? kNoLimit : limit;
  options.host_limit_bytes = bytes_of("host_limit_bytes", given.host_limit_bytes);
  options.scratch_folder = or_else(given.scratch_folder, "");
  if (!options.scratch_folder.empty()) options.scratch_limit_bytes = free_disk_bytes(options.scratch_folder);
  set_profile(question, or_else(given.profile, ""));
}

}  // namespace headroom::planner
