#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/devices/device_name.h"

namespace headroom {

/// The command line of headroom-decode encode. Empty text means that the option was not given.
struct EncodeOptions {
  std::string model, weights;
  std::optional<uint64_t> random_seed;
  std::string picture;   ///< a picture, a folder with a clip's frames, or an array
  std::string pictures;  ///< a folder with pictures of any sizes
  bool crop = false;
  std::string plan_file, limit, dtype, tf32, scratch, scratch_limit, profile_file;
  std::optional<DeviceName> device;  ///< unset: the CPU, or the device of the plan
  bool other_environment = false;
  std::string output, stats_file;
  std::string latent_scale = "model";
  bool json = false;
  int threads = 0;  ///< 0: all
  ProgressOptions progress;
};

/// Returns nullopt if it printed --help or --version on `out`. Throws InputError naming the option.
std::optional<EncodeOptions> parse_encode_options(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom
