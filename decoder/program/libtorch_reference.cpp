#include "decoder/program/libtorch_reference.h"

#include <unistd.h>

#include "decoder/cli/run_guard.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/npy.h"
#include "decoder/graph/errors.h"
#include "decoder/loading/load_module.h"
#include "decoder/program/child_program.h"

namespace headroom {

std::optional<Array> libtorch_picture(const Request& request, const std::vector<std::string>& weights,
                                      const Array& latent, const std::function<void()>& begins) {
  constexpr const char* kProgram = "headroom-profile";
  if (access((program_folder() / kProgram).c_str(), X_OK) != 0) return std::nullopt;
  begins();
  const PrivateFolder folder({"latent.npy", "picture.npy", "recording.json", "messages"});
  write_npy(folder.file(0), latent);
  std::vector<std::string> words = weights;
  const std::string size = std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels);
  words.insert(words.end(),
               {"--engine", "libtorch", "--layouts", "nchw", "--tilings", "whole", "--sizes", size,
                "--frames", std::to_string(request.frames), "--batch", std::to_string(request.batch),
                "--latent", folder.file(0), "--picture", folder.file(1), "-o", folder.file(2), "--quiet"});
  const ChildEnd end =
      run_program_beside(kProgram, words, folder.file(3), "--verify asks it for LibTorch's decode");
  if (end.exit_code != kDone) return std::nullopt;
  return read_latent(folder.file(1));  // as any array of such axes
}

}  // namespace headroom
