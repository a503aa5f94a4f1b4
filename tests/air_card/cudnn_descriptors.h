#pragma once

#include <cudnn.h>

#include <map>
#include <memory>
#include <vector>

// Descriptors of cuDNN's backend API, with the attributes that the program has set.
namespace headroom::air {

struct Descriptor {
  int type = 0;
  bool finalized = false;
  std::map<int, std::vector<char>> values;
  std::map<int, std::vector<std::shared_ptr<Descriptor>>> references;

  /// All values of an attribute with 64-bit values. Empty if it is not set.
  std::vector<int64_t> integers(cudnnBackendAttributeName_t name) const;
  /// First value of an attribute; 0 if it is not set.
  int64_t integer(cudnnBackendAttributeName_t name) const;
  int enumerator(cudnnBackendAttributeName_t name) const;
  void set_integer(cudnnBackendAttributeName_t name, int64_t value);
  /// First descriptor that an attribute refers to. Throws std::out_of_range if there is none.
  const std::shared_ptr<Descriptor>& at(cudnnBackendAttributeName_t name) const;
};

/// An engine offered for a convolution. On tensor cores it rounds fp32 inputs to TF32.
struct EngineKind {
  int64_t index;
  int64_t workspace_bytes;
  bool tensor_cores;
  bool for_fp32;  ///< else for 16 bits
};
/// All engines, best first.
constexpr EngineKind kEngines[] = {
    {41, int64_t{256} << 10, true, false}, {42, 0, true, false}, {51, 0, true, true},
    {44, int64_t{256} << 10, false, true}, {11, 0, false, true},
};
/// The engine of an engine descriptor.
const EngineKind& kind_of(const Descriptor& engine);

/// The descriptor of a handle that the program holds.
const std::shared_ptr<Descriptor>& descriptor_of(cudnnBackendDescriptor_t handle);

/// True if the convolution's extents are consistent with its padding, strides and dilations.
bool extents_fit(const Descriptor& convolution);
/// Enqueues a plan's operations on a stream.
cudnnStatus_t execute(const Descriptor& plan, const Descriptor& pack, cudaStream_t stream);

}  // namespace headroom::air
