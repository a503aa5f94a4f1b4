#include "decoder/schedule/storage.h"

#include "decoder/graph/geometry.h"

namespace headroom {

const StorageRules& storage_rules(DeviceKind device) {
  return device_record(device).is_host ? cpu_storage() : gpu_storage();
}

int64_t allocated_bytes(int64_t bytes, DeviceKind device) {
  return storage_rules(device).allocated_bytes(bytes);
}

int64_t tile_element_bytes(const Sizes& sizes) {
  return storage_rules(sizes).tile_element_bytes(sizes.dtype);
}

int64_t tile_bytes(const Graph& graph, TensorId tensor, const Extent& extent, const Sizes& sizes) {
  const StorageRules& rules = storage_rules(sizes);
  const int64_t values = positions(extent) * graph.tensor(tensor).channels;
  return rules.tile_bytes(values * rules.tile_element_bytes(sizes.dtype), sizes.items);
}

int64_t latent_bytes(const Graph& graph, const Sizes& sizes) {
  return sizes.items *
         allocated_bytes(bytes_of(graph.tensor(graph.input()), sizes.latent, 1, Dtype::fp32), sizes.device);
}

int64_t device_state_bytes(const Graph& graph, const Sizes& sizes) {
  return storage_rules(sizes).state_bytes(graph, sizes);
}

}  // namespace headroom
