#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "tests/air_card/card.h"
#include "tests/air_card/cudnn_descriptors.h"
#include "tests/air_card/direct_convolution.h"

// Reads a plan's operations from its descriptors, checks them and passes them to direct_convolution.cpp.
namespace headroom::air {
namespace {

ValueType type_of(int type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return ValueType::fp32;
    case CUDNN_DATA_HALF:
      return ValueType::fp16;
    case CUDNN_DATA_BFLOAT16:
      return ValueType::bf16;
    default:
      throw std::invalid_argument("a data type that is not known");
  }
}

/// Converts to five axes: batch, channels, frames, rows, columns. A picture gets `missing` as its frames.
std::array<int64_t, 5> five(const std::vector<int64_t>& values, int64_t missing) {
  if (values.size() == 5) return {values[0], values[1], values[2], values[3], values[4]};
  if (values.size() == 4) return {values[0], values[1], missing, values[2], values[3]};
  throw std::invalid_argument("a tensor has neither 4 nor 5 extents");
}

Tensor tensor_of(const Descriptor& descriptor) {
  Tensor tensor;
  tensor.type = type_of(descriptor.enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE));
  tensor.extents = five(descriptor.integers(CUDNN_ATTR_TENSOR_DIMENSIONS), 1);
  tensor.strides = five(descriptor.integers(CUDNN_ATTR_TENSOR_STRIDES), 0);
  return tensor;
}

/// Data pointers of a variant pack.
class Pack {
 public:
  explicit Pack(const Descriptor& pack)
      : workspace(pointer(pack.integer(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))) {
    const std::vector<int64_t> numbers = pack.integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const std::vector<int64_t> data = pack.integers(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < numbers.size(); ++i) data_[numbers[i]] = pointer(data.at(i));
  }

  /// Returns the tensor with its data pointer. Checks alignment and allocation.
  Tensor tensor(const Descriptor& descriptor) {
    Tensor tensor = tensor_of(descriptor);
    const int64_t number = descriptor.integer(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    tensor.data = data_.at(number);
    const int64_t alignment = descriptor.integer(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    if (alignment <= 0 || reinterpret_cast<int64_t>(tensor.data) % alignment != 0) {
      wrong_use("cuDNN: tensor " + std::to_string(number) + " is not aligned to " +
                std::to_string(alignment) + " bytes");
      valid = false;
    }
    if (!check_device_range("cuDNN", tensor.data, tensor.bytes())) valid = false;
    return tensor;
  }

  void* workspace;
  bool valid = true;

 private:
  static void* pointer(int64_t value) { return reinterpret_cast<void*>(value); }
  std::map<int64_t, void*> data_;
};

/// Makes an engine slow, so that programs which time engines prefer another one.
void enqueue_slowness(const Descriptor& engine, cudaStream_t stream) {
  static const int64_t slow = number_setting("AIR_SLOW_ENGINE", -1);
  if (engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == slow)
    enqueue(stream, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
}

std::vector<int64_t> of_axes(const Descriptor& convolution, cudnnBackendAttributeName_t name) {
  return convolution.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)->integers(name);
}

bool all_are(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t one) { return one == value; });
}

}  // namespace

bool extents_fit(const Descriptor& convolution) {
  const Tensor x = tensor_of(*convolution.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  const Tensor w = tensor_of(*convolution.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  const Tensor y = tensor_of(*convolution.at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
  if (x.extents[1] != w.extents[1] || w.extents[0] != y.extents[1] || x.extents[0] != y.extents[0])
    return false;
  // Headroom pads tiles itself. It uses neither cuDNN's padding nor strides and dilations.
  if (!all_are(of_axes(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS), 0) ||
      !all_are(of_axes(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS), 0) ||
      !all_are(of_axes(convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS), 1) ||
      !all_are(of_axes(convolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), 1))
    return false;
  for (size_t axis = 2; axis < 5; ++axis) {
    if (x.extents[axis] - w.extents[axis] + 1 != y.extents[axis]) return false;
  }
  return true;
}

cudnnStatus_t execute(const Descriptor& plan, const Descriptor& pack, cudaStream_t stream) {
  if (!plan.finalized || !pack.finalized) throw std::invalid_argument("a plan or pack that is not finalized");
  const Descriptor& engine =
      *plan.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->at(CUDNN_ATTR_ENGINECFG_ENGINE);
  const auto& operations =
      engine.at(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->references.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  Pack data(pack);
  const EngineKind& kind = kind_of(engine);
  DirectConvolution convolution;
  convolution.tf32 = kind.tensor_cores && kind.for_fp32;
  convolution.x = data.tensor(*operations.at(0)->at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
  convolution.w = data.tensor(*operations.at(0)->at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
  for (size_t i = 1; i < operations.size(); ++i)
    convolution.added.push_back(data.tensor(*operations[i]->at(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)));
  convolution.y = data.tensor(*operations.back()->at(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  const int64_t workspace_bytes = kind.workspace_bytes;
  if (workspace_bytes > 0 && !check_device_range("cuDNN's workspace", data.workspace, workspace_bytes))
    data.valid = false;
  if (!data.valid) return CUDNN_STATUS_BAD_PARAM;
  enqueue_slowness(engine, stream);
  if (!kernels_are_run()) return CUDNN_STATUS_SUCCESS;
  enqueue(stream, [convolution, workspace = data.workspace, workspace_bytes] {
    // Engines overwrite the whole workspace.
    if (workspace_bytes > 0) std::memset(workspace, 0xff, static_cast<size_t>(workspace_bytes));
    run(convolution);
  });
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace headroom::air
