#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// Names of a checkpoint's tensors, without the prefix that all of them have.
using CheckpointNames = std::set<std::string, std::less<>>;

using RenamedStarts = std::vector<std::pair<std::string_view, std::string_view>>;

/// Replaces the start of a name. In `now`, "@" is the first word with its dot, and "#" a number. In `before`,
/// "@" repeats the word, and "{2a+b-1}" is computed from the first number a and the second number b.
/// The first entry of `rest` that matches replaces the start of the remaining name.
struct Renaming {
  std::string now, before;
  RenamedStarts rest{};
};

/// Tensor names in original checkpoints. Sources: diffusers' loaders/single_file_utils.py, and its scripts
/// named
/// convert_{wan,hunyuan_image,hunyuan_video,hunyuan_video1_5,flux2,ltx,ltx2,tiny_autoencoder}_to_diffusers.py;
/// ComfyUI's diffusers_convert.py.
struct OriginalNames {
  std::string_view key{};  ///< such as "wan"; the Python package derives a config from the shapes by it
  /// A tensor that only checkpoints with these names have, and one for an encoder alone. Families that are
  /// told apart by shapes have the same marks. Empty: another record has the marks.
  std::string_view decoder_mark{}, encoder_mark{};
  /// The decoder's mark counts only beside this tensor, and both marks after diffusers' own names. Decoder
  /// and encoder then have prefixes of their own, such as "taesd_decoder." and "taesd_encoder.".
  std::string_view beside{};
  bool first = false;  ///< looked for before the marks of other families
  /// From names of today's diffusers to names of a checkpoint. Null: they are equal.
  std::vector<Renaming> (*renamings)(const CheckpointNames& stored) = nullptr;
};

/// Takes `start` off the front.
bool take(std::string_view& text, std::string_view start);
/// Takes digits off the front.
std::optional<int> take_number(std::string_view& text);

/// One more than the largest last number of names that start with `pattern` (as Renaming::now); 0 without
/// any.
int64_t count_of(const CheckpointNames& stored, std::string_view pattern);

/// Stable Diffusion's names. `level` computes the decoder's resolution in the checkpoint, like
/// Renaming::before.
std::vector<Renaming> stable_diffusion_renamings(const std::string& level);

/// Maps tensor names of today's diffusers to the names of a checkpoint: those of older diffusers, with
/// …attentions.0.query for …attentions.0.to_q, or those of a family's record. Original names may have a
/// prefix, such as "first_stage_model." or "vae.", which is detected.
class TensorNames {
 public:
  TensorNames() = default;
  /// `stored`: all names of the checkpoint.
  explicit TensorNames(const std::vector<std::string>& stored);

  /// True if any name is a decoder's.
  bool has_decoder() const;

  /// The stored name of the tensor that diffusers calls `name`; nothing where there is none.
  std::optional<std::string> find(const std::string& name) const;

  /// The first record whose decoder the checkpoint has. Null for diffusers' names and for an encoder alone.
  const OriginalNames* original() const { return original_; }
  const std::string& prefix() const { return prefix_; }

 private:
  bool take_record_of(std::string_view OriginalNames::*mark, bool (*among)(const OriginalNames&));
  bool take_prefix(std::string_view mark, std::string_view beside = {});
  std::string prefix_of(std::string_view name) const;

  CheckpointNames stored_;
  std::string prefix_;
  const OriginalNames* original_ = nullptr;
  std::vector<Renaming> renamings_;
};

}  // namespace headroom
