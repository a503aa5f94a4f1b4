#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/families/tensor_names.h"
#include "decoder/files/safetensors.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/graph/graph.h"
#include "decoder/operations/operation.h"

namespace headroom {

/// True if a stored tensor of this shape can be the parameter: see check_stored_shape().
bool is_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored);

/// Throws InputError if a stored tensor of this shape cannot be the parameter. `where` names the tensor in
/// the message. A linear layer can stand for a 1×1 convolution and vice versa: [O, I] and [O, I, 1, 1] count
/// as the same shape.
void check_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored,
                        const std::string& where);

/// Throws InputError if a value is a NaN or an infinity. `elements` gives the values' positions in the
/// tensor.
void check_finite(const float* values, const Interval& elements, const std::string& where);

/// Message for a checkpoint of another part of a pipeline, such as its transformer alone.
constexpr const char* kNoDecoder =
    "has no VAE: no tensor under first_stage_model., vae. or decoder.; expected the VAE's own file, or a "
    "checkpoint "
    "that includes it";

/// The weights of a model: a .safetensors file or a folder in diffusers' layout. A file may have any name,
/// and its tensors any names that TensorNames knows. In a folder the first of these files is used:
///   diffusion_pytorch_model.safetensors
///   diffusion_pytorch_model.safetensors.index.json        with the shards that it names
///   diffusion_pytorch_model.fp16.safetensors
///   diffusion_pytorch_model.safetensors.index.fp16.json   with the shards that it names
/// Reading is const and may happen on several threads at once.
class WeightFiles {
 public:
  /// Throws InputError if the folder, an index or a file is missing or malformed.
  explicit WeightFiles(const std::filesystem::path& path);

  bool contains(const std::string& name) const;
  /// True if any tensor belongs to a decoder.
  bool has_decoder() const { return names_.has_decoder(); }
  /// Finds a tensor by its name in today's diffusers, which may differ from its name in the checkpoint.
  /// Throws InputError naming the file and the tensor if there is none.
  TensorView find(const std::string& name) const;

  /// Reads a parameter as fp32, in the order of its shape. `out` has room for all elements. A linear layer
  /// and a 1×1 convolution stand for one another: [O, I] and [O, I, 1, 1] are the same shape here. Throws
  /// InputError where the tensor is missing, has another shape, or holds a NaN or an infinity.
  void read(const Parameter& parameter, float* out) const;
  /// Reads only the elements of `range`, in that order; `out` has room for that many.
  void read(const Parameter& parameter, const Interval& range, float* out) const;

 private:
  struct Place {
    const SafetensorsFile* file = nullptr;  ///< null if there is no such tensor
    std::string stored_name;
  };
  Place place_of(const std::string& name) const;
  Place require(const std::string& name) const;
  void open(const std::filesystem::path& folder);
  void open_single(const std::filesystem::path& file);
  void open_shards(const std::filesystem::path& folder, const std::filesystem::path& index);

  std::string origin_;  ///< the file or the index, for messages
  std::map<std::string, std::unique_ptr<SafetensorsFile>> files_;
  std::unordered_map<std::string, const SafetensorsFile*> file_of_;
  TensorNames names_;
};

}  // namespace headroom
