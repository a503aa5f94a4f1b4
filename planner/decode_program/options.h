#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/cli/arguments.h"
#include "decoder/devices/device_name.h"
#include "decoder/files/picture_sink.h"

namespace headroom {

/// Options that decoding and encoding share, as given on the command line. An empty text means that the
/// option was not given.
struct SharedOptions {
  std::string model, weights;
  std::optional<uint64_t> random_seed;
  std::string plan_file, limit, profile_file, dtype, tf32, scratch, scratch_limit;
  std::optional<DeviceName> device;  ///< unset: the CPU, or the device of the plan
  bool other_environment = false;
  std::string output, stats_file;
  bool json = false;
  int threads = 0;  ///< 0: all
  ProgressOptions progress;
};

/// Options of headroom-decode.
struct DecodeOptions : SharedOptions {
  std::string queue_file, preview_file, trace_file;
  std::vector<std::string> latents;
  std::string latent_scale = "auto";
  FrameRate frame_rate;
  int quality = kDefaultQuality;
  double rank_timeout_seconds = 30;
  std::string rank_exchange = "auto";
  bool verify = false;
};

/// The program's commands besides decoding.
inline const Command kEncode{"encode", "make a latent of a picture or clip"};
inline const Command kStream{"stream", "decode a clip in blocks, from standard input to standard output"};

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

/// Options of headroom-decode encode.
struct EncodeOptions : SharedOptions {
  std::string picture;   ///< a picture, a folder with a clip's frames, or an array
  std::string pictures;  ///< a folder with pictures of any sizes
  bool crop = false;
  std::string latent_scale = "model";
};

/// Returns nullopt if it printed --help or --version on `out`. Throws InputError naming the option.
std::optional<EncodeOptions> parse_encode_options(const std::vector<std::string>& args, std::ostream& out);

/// Options of headroom-decode stream. The output is standard output.
struct StreamOptions : SharedOptions {
  int64_t block = 0;  ///< latent frames; 0: those of the first block
  std::string latent_scale = "auto";
  FrameRate frame_rate;
};

/// Returns nullopt if it printed --help or --version on `out`. Throws InputError naming the option.
std::optional<StreamOptions> parse_stream_options(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom
