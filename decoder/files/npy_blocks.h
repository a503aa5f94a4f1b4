#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/npy.h"

namespace headroom {

/// Latents that arrive one after another on a pipe, each as numpy.save() writes it. Memory holds one of them.
class NpyBlocks {
 public:
  /// `origin` names the pipe in messages.
  NpyBlocks(int descriptor, std::string origin) : descriptor_(descriptor), origin_(std::move(origin)) {}

  /// Shape of the next latent, N×C×T×H×W. Nothing if the input has ended. Throws InputError naming the block
  /// and the field.
  std::optional<std::vector<int64_t>> next_shape();
  /// Values of the latent of next_shape(). Throws InputError if the input ends too early, or if a value is
  /// not finite.
  Array read();

  /// Name of the block of the last next_shape(): "standard input: block 3".
  std::string place() const { return origin_ + ": block " + std::to_string(block_); }

 private:
  const int descriptor_;
  const std::string origin_;
  int64_t block_ = 0;  ///< from 1
  NpyHeader header_;
};

}  // namespace headroom
