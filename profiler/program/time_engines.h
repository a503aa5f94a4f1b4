#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "decoder/base/progress/progress.h"
#include "decoder/devices/device_name.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"

namespace headroom::profiler {

/// A plan for a GPU, and the profile that receives the choices.
struct EnginesRequest {
  std::string plan_file, profile_file;
  std::optional<DeviceName> device;  ///< unset: the first GPU
};

/// Times the engines for the convolutions of a plan for a GPU, and adds them to a profile's file. Prints a
/// summary. Throws InputError if the profile is of another card or other libraries.
void time_engines(const Model& model, const EnginesRequest& request, const ParameterSource& weights,
                  Progress& progress, std::ostream& out);

}  // namespace headroom::profiler
