#include "decoder/weights/open_weights.h"

#include <filesystem>
#include <memory>

#include "decoder/base/errors.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/weights/random_weights.h"
#include "decoder/weights/weight_files.h"

namespace headroom {

ParameterSource open_weights(const std::string& model, const std::string& weights,
                             std::optional<uint64_t> random_seed) {
  if (random_seed) {
    return [seed = *random_seed](const Parameter& parameter, const Interval& elements, float* out) {
      fill_random(parameter, seed, elements, out);
    };
  }
  if (weights.empty() && !is_there(model)) {
    throw InputError("--model " + model +
                     " has no weights of its own: give --weights DIR or --random-weights SEED");
  }
  auto files = std::make_shared<WeightFiles>(model_folder(weights.empty() ? model : weights));
  return [files](const Parameter& parameter, const Interval& elements, float* out) {
    files->read(parameter, elements, out);
  };
}

}  // namespace headroom
