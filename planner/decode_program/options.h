#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/cli/commands.h"
#include "decoder/devices/device_name.h"
#include "decoder/files/frame_rate.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Options of headroom-decode, as given on the command line.
struct DecodeOptions {
  std::string plan_file, limit, queue_file, profile_file, model, weights, output, preview_file, stats_file,
      trace_file, scratch, scratch_limit;
  std::vector<std::string> latents;
  std::string latent_scale = "auto";
  std::optional<uint64_t> random_seed;
  FrameRate frame_rate;
  int quality = kDefaultQuality;
  int threads = 0;
  double rank_timeout_seconds = 30;
  std::string rank_exchange = "auto";
  std::string dtype, tf32;
  std::optional<DeviceName> device;  ///< unset: the CPU, or the device of the plan
  bool verify = false, json = false, other_environment = false;
  ProgressOptions progress;
};

/// The program's only command besides decoding.
inline const Command kEncode{"encode", "make a latent of a picture or clip"};

/// Name of an option, and whether the user gave it.
struct Given {
  bool given = false;
  const char* name = nullptr;
};
/// Throws InputError naming the first given option: "--verify: not with --queue (try headroom-decode
/// --help)".
void refuse_given(const std::vector<Given>& options, const std::string& why);

/// Returns nullopt after answering --help or --version on `out`. Throws InputError if arguments contradict
/// each other.
std::optional<DecodeOptions> parse_decode_options(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom
