#pragma once

#include <cudnn.h>

#include <map>
#include <memory>
#include <vector>

// Descriptors of cuDNN's backend API: attributes as the program sets them.
namespace headroom::air {

struct Descriptor {
  int type = 0;
  bool finalized = false;
  std::map<int, std::vector<char>> values;
  std::map<int, std::vector<std::shared_ptr<Descriptor>>> references;

  /// All values of an attribute of 64 bits a value; none if it was not set.
  std::vector<int64_t> integers(cudnnBackendAttributeName_t name) const;
  /// The first value; 0 if it was not set.
  int64_t integer(cudnnBackendAttributeName_t name) const;
  int enumerator(cudnnBackendAttributeName_t name) const;
  void set_integer(cudnnBackendAttributeName_t name, int64_t value);
  /// The first descriptor that an attribute refers to. Throws std::out_of_range if there is none.
  const std::shared_ptr<Descriptor>& at(cudnnBackendAttributeName_t name) const;
};

/// The engines that are offered for a convolution, best first.
struct EngineKind {
  int64_t index;
  int64_t workspace_bytes;
};
constexpr EngineKind kEngines[] = {{41, int64_t{256} << 10}, {42, 0}};

/// The descriptor behind a handle of the program.
const std::shared_ptr<Descriptor>& descriptor_of(cudnnBackendDescriptor_t handle);

/// True if the extents of a convolution match, given its paddings, strides and dilations.
bool extents_fit(const Descriptor& convolution);
/// Starts a plan's operations on a stream.
cudnnStatus_t execute(const Descriptor& plan, const Descriptor& pack, cudaStream_t stream);

}  // namespace headroom::air
