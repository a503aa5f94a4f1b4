#include "decoder/gpu/transfers/card_weights.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "decoder/gpu/transfers/device_arrays.h"
#include "decoder/gpu/transfers/gpu_weights.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"
#include "decoder/weights/folded_convolution.h"

namespace headroom {
namespace {

using List = gpu::Pack::List;

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(value);
}

/// A list of `channels` values. Null: all of them are `constant`.
List list_of(const DeviceArray* array, int64_t channels, float constant, Dtype to_dtype, std::byte* to) {
  List list{.to = to, .to_dtype = to_dtype, .constant = constant, .outputs = narrow(channels)};
  if (array == nullptr) return list;
  list.from = array->values;
  list.from_dtype = array->dtype;
  const auto longest = std::max_element(array->shape.begin(), array->shape.end());
  list.output = array->strides[static_cast<size_t>(longest - array->shape.begin())];
  return list;
}

/// Stride of an axis of a kernel, counted from the last one. Kernels of one position may leave axes out.
int64_t kernel_stride(const DeviceArray& array, size_t from_last) {
  const size_t axes = array.shape.size();
  return axes >= 3 + from_last ? array.strides[axes - 1 - from_last] : 0;
}

List kernel_list(const DeviceArray& array, const KernelShape& shape, int64_t outputs) {
  return {.from = array.values,
          .from_dtype = array.dtype,
          .outputs = narrow(outputs),
          .frames = narrow(shape.frames),
          .rows = narrow(shape.rows),
          .columns = narrow(shape.columns),
          .inputs = narrow(shape.inputs / shape.groups),
          .phases = shape.upsamples,
          .output = array.strides[0],
          .frame = kernel_stride(array, 2),
          .row = kernel_stride(array, 1),
          .column = kernel_stride(array, 0),
          .input = array.shape.size() > 1 ? array.strides[1] : 0};
}

void run_all(const std::vector<List>& lists, const CardWeights::Run& run) {
  for (size_t first = 0; first < lists.size(); first += gpu::Pack::kMostLists) {
    gpu::Pack call;
    const size_t end = std::min(lists.size(), first + gpu::Pack::kMostLists);
    for (size_t i = first; i < end; ++i, ++call.lists) {
      call.list[call.lists] = lists[i];
      const int64_t blocks = (lists[i].values() + gpu::Pack::kBlockValues - 1) / gpu::Pack::kBlockValues;
      call.first_block[call.lists + 1] = call.first_block[call.lists] + narrow(blocks);
    }
    run(call);
  }
}

}  // namespace

std::vector<OpId> folded_operations(const Graph& graph) {
  std::vector<OpId> folded;
  for (const OpId id : all_operations(graph)) {
    const Op& op = graph.op(id);
    if ((op.kind == OpKind::conv && !packs_on_gpu(graph, op)) || op.frames_in_channels > 1)
      folded.push_back(id);
  }
  return folded;
}

void CardWeights::pack(const std::vector<OpId>& operations, std::byte* to, const Run& run) const {
  Lists lists;
  for (const OpId id : operations) {
    const Op& op = graph_.op(id);
    const PinnedWeights::Packed folded = folded_ != nullptr ? folded_->of(id) : PinnedWeights::Packed{};
    if (folded.bytes > 0) {
      gpu_.copy(gpu::Stream::compute, to, folded.values, folded.bytes);
    } else if (op.kind == OpKind::conv && !op.convolution.product.empty()) {
      add_product(op, to, lists);
    } else if (op.kind == OpKind::conv) {
      add_convolution(op, to, lists);
    } else if (operation(op.kind).has_scale_and_bias) {
      add_norm(op, to, lists);
    }
    to += gpu::parameter_bytes(graph_, op, dtype_);
  }
  run_all(lists, run);
}

void CardWeights::add_convolution(const Op& op, std::byte* to, Lists& lists) const {
  const KernelShape shape = kernel_shape(graph_, op);
  const ConvolutionTraits& traits = op.convolution;
  const std::vector<Parameter> parameters = parameters_of(graph_, op);
  const size_t modules = std::max<size_t>(1, traits.stacked.size());
  const int64_t outputs = shape.outputs / static_cast<int64_t>(modules);
  const int64_t earlier =
      std::max<int64_t>(shape.frames, traits.stored_frames) - shape.frames - traits.stored_ahead;
  std::byte* const bias_at = to + second_offset(graph_, op, dtype_);
  for (size_t module = 0; module < modules; ++module) {
    const DeviceArray& array = parameters_.of(parameters[module]);
    List list = kernel_list(array, shape, outputs);
    list.from += earlier * list.frame * bytes_per_element(array.dtype);
    list.to = to;
    list.to_dtype = dtype_;
    to += list.values() * bytes_per_element(dtype_);
    lists.push_back(list);
  }
  if (!traits.bias) return lists.push_back(list_of(nullptr, shape.outputs, 0, dtype_, bias_at));
  for (size_t module = 0; module < modules; ++module) {
    const int64_t first = static_cast<int64_t>(module) * outputs * bytes_per_element(dtype_);
    lists.push_back(
        list_of(&parameters_.of(parameters[modules + module]), outputs, 0, dtype_, bias_at + first));
  }
}

void CardWeights::add_product(const Op& op, std::byte* to, Lists& lists) const {
  const KernelProduct& product = op.convolution.product;
  const int64_t channels = output_channels(graph_, op);
  const std::vector<Parameter> parameters = parameters_of(graph_, op);
  const auto own = [&](const ModulePart& part, const char* name) {
    const Parameter& parameter =
        *std::find_if(parameters.begin(), parameters.end(),
                      [&](const Parameter& other) { return other.name == part.module + name; });
    DeviceArray array = parameters_.of(parameter);
    array.values += part.part * channels * array.strides[0] * bytes_per_element(array.dtype);
    return array;
  };
  const DeviceArray first = own(product.first, ".weight"), second = own(product.second, ".weight");
  const DeviceArray first_bias = own(product.first, ".bias"), second_bias = own(product.second, ".bias");
  const bool transposed = product.transposes_second;
  List list{.to = to, .to_dtype = dtype_, .outputs = narrow(channels), .summed = narrow(channels)};
  list.by = second.values;
  list.by_dtype = second.dtype;
  list.by_output = second.strides[transposed ? 1 : 0];
  list.by_summed = second.strides[transposed ? 0 : 1];
  list.scale = op.convolution.scale;
  List bias = list;
  list.from = first.values;
  list.from_dtype = first.dtype;
  list.inputs = narrow(channels);
  list.output = first.strides[0];
  list.input = first.strides[1];
  bias.to = to + second_offset(graph_, op, dtype_);
  bias.from = first_bias.values;
  bias.from_dtype = first_bias.dtype;
  bias.output = first_bias.strides[0];
  bias.addend = second_bias.values;
  bias.addend_dtype = second_bias.dtype;
  bias.addend_output = second_bias.strides[0];
  bias.checks_addend = transposed;
  lists.insert(lists.end(), {list, bias});
}

void CardWeights::add_norm(const Op& op, std::byte* to, Lists& lists) const {
  const int64_t channels = output_channels(graph_, op);
  const std::vector<Parameter> parameters = parameters_of(graph_, op);
  const auto array = [&](size_t number) {
    return number < parameters.size() ? &parameters_.of(parameters[number]) : nullptr;
  };
  lists.push_back(list_of(array(0), channels, 1, Dtype::fp32, to));
  lists.push_back(list_of(array(1), channels, 0, Dtype::fp32, to + second_offset(graph_, op, dtype_)));
}

void CardWeights::require_finite(HostCopies& copies) const {
  const ParameterSource source = parameters_.source(copies);
  for (const Op& op : graph_.ops()) {
    for (const Parameter& parameter : parameters_of(graph_, op)) {
      std::vector<float> values(static_cast<size_t>(elements_of(parameter)));
      source(parameter, {0, elements_of(parameter)}, values.data());
    }
  }
}

namespace {

/// Values of the arrays read last: a folded convolution reads one output after another, of up to a few
/// modules.
struct LastRead {
  static constexpr size_t kMost = 4;
  std::deque<std::pair<const DeviceArray*, std::vector<float>>> arrays;

  const std::vector<float>& values(const DeviceArray& array, HostCopies& copies) {
    const auto known =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& each) { return each.first == &array; });
    if (known != arrays.end()) return known->second;
    if (arrays.size() == kMost) arrays.pop_front();
    return arrays.emplace_back(&array, values_of(array, copies)).second;
  }
};

}  // namespace

CardParameters::CardParameters(std::string origin, std::unordered_map<std::string, DeviceArray> arrays)
    : arrays_(std::move(origin), std::move(arrays)) {}

const DeviceArray& CardParameters::of(const Parameter& parameter) const {
  return arrays_.find(parameter).tensor;
}

void CardParameters::require_all(const Graph& graph) const {
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) of(parameter);
  }
}

ParameterSource CardParameters::source(HostCopies& copies) const {
  return [this, &copies, last = std::make_shared<LastRead>()](const Parameter& parameter,
                                                              const Interval& elements, float* out) {
    const auto [array, where] = arrays_.find(parameter);
    const std::vector<float>& values = last->values(array, copies);
    std::copy_n(values.data() + elements.begin, elements.length(), out);
    check_finite(out, elements, where);
  };
}

}  // namespace headroom
