#include "decoder/gpu/cuda/cudnn_plans.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decoder/gpu/cuda/library_calls/problem_text.h"
#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {
namespace {

constexpr const char* kSet = "cudnnBackendSetAttribute";
constexpr const char* kGet = "cudnnBackendGetAttribute";

template <typename T>
void set(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
         cudnnBackendAttributeType_t type, const std::vector<T>& values) {
  check(cudnnBackendSetAttribute(descriptor.get(), name, type, static_cast<int64_t>(values.size()),
                                 values.data()),
        kSet);
}
void set(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
         const std::vector<int64_t>& values) {
  set(descriptor, name, CUDNN_TYPE_INT64, values);
}
void set(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{value.get()});
}
template <typename T>
void set(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
         cudnnBackendAttributeType_t type, const T& value) {
  check(cudnnBackendSetAttribute(descriptor.get(), name, type, 1, &value), kSet);
}
void finalize(const CudnnDescriptor& descriptor) {
  check(cudnnBackendFinalize(descriptor.get()), "cudnnBackendFinalize");
}

template <typename T>
T value_of(const CudnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
           cudnnBackendAttributeType_t type) {
  T value{};
  int64_t count = 0;
  check(cudnnBackendGetAttribute(descriptor.get(), name, type, 1, &count, &value), kGet);
  return value;
}

cudnnDataType_t type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return CUDNN_DATA_FLOAT;
    case Dtype::bf16:
      return CUDNN_DATA_BFLOAT16;
    case Dtype::fp16:
      return CUDNN_DATA_HALF;
  }
  return CUDNN_DATA_FLOAT;
}

/// Extents and strides in cuDNN's order: batch or outputs, channels, then the spatial axes.
struct Layout {
  std::vector<int64_t> extents, distances;
};

CudnnDescriptor tensor(CudnnTensor number, cudnnDataType_t type, const Layout& layout,
                       bool is_virtual = false) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, layout.extents);
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, layout.distances);
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, static_cast<int64_t>(number));
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, kCudnnAlignment);
  set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, is_virtual);
  finalize(tensor);
  return tensor;
}

/// Frames of pixels, channels last, as a convolution reads or writes them.
struct Frames {
  int64_t channels, frames, rows, columns;
  int64_t frame, row;  ///< strides, in values
};

/// A kernel with one tap along time treats frames as a batch of pictures.
Layout layout_of(const ConvolutionProblem& problem, const Frames& f) {
  if (problem.taps_t == 1)
    return {{f.frames, f.channels, f.rows, f.columns}, {f.frame, 1, f.row, f.channels}};
  return {{1, f.channels, f.frames, f.rows, f.columns}, {f.frames * f.frame, 1, f.frame, f.row, f.channels}};
}

Layout kernel_layout(const ConvolutionProblem& problem) {
  const int64_t inputs = problem.inputs, rows = problem.taps_y, columns = problem.taps_x,
                frames = problem.taps_t;
  if (frames == 1)
    return {{problem.outputs, inputs, rows, columns}, {rows * columns * inputs, 1, columns * inputs, inputs}};
  return {{problem.outputs, inputs, frames, rows, columns},
          {frames * rows * columns * inputs, 1, rows * columns * inputs, columns * inputs, inputs}};
}

/// Convolution, then the residual, then the bias, all in fp32; the result is rounded once. cuDNN has
/// precompiled kernels for this order. With the bias first it compiles kernels at run time.
struct Graph {
  std::vector<CudnnDescriptor> nodes;  ///< kept alive: the graph refers to them
  CudnnDescriptor graph;
};

/// sum = one + other, in fp32.
CudnnDescriptor addition(const CudnnDescriptor& adding, const CudnnDescriptor& one,
                         const CudnnDescriptor& other, const CudnnDescriptor& sum) {
  CudnnDescriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, adding);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, one);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum);
  finalize(add);
  return add;
}

Graph graph_of(const ConvolutionProblem& p) {
  const cudnnDataType_t type = type_of(p.dtype), in_between = CUDNN_DATA_FLOAT;
  const size_t axes = p.taps_t == 1 ? 2 : 3;
  const std::vector<int64_t> zeros(axes, 0), ones(axes, 1);
  const Layout output = layout_of(p, {p.outputs, p.frames, p.rows, p.columns, p.output_frame, p.output_row});
  Layout bias{ones, std::vector<int64_t>(axes, p.outputs)};
  bias.extents.insert(bias.extents.begin(), {1, p.outputs});
  bias.distances.insert(bias.distances.begin(), {p.outputs, 1});

  CudnnDescriptor x = tensor(kCudnnInput, type,
                             layout_of(p, {p.inputs, p.input_frames(), p.input_rows(), p.input_columns(),
                                           p.input_frame, p.input_row}));
  CudnnDescriptor w = tensor(kCudnnKernel, type, kernel_layout(p));
  CudnnDescriptor sum = tensor(kCudnnSum, in_between, output, true);
  CudnnDescriptor b = tensor(kCudnnBias, type, bias);
  CudnnDescriptor y = tensor(kCudnnOutput, type, output);

  CudnnDescriptor rule(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(rule, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, in_between);
  set(rule, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set(rule, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, static_cast<int64_t>(axes));
  set(rule, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, zeros);
  set(rule, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, zeros);
  set(rule, CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  set(rule, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, ones);
  finalize(rule);

  CudnnDescriptor convolution(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, sum);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, rule);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
  set(convolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
  finalize(convolution);

  CudnnDescriptor adding(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(adding, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
  set(adding, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, in_between);
  finalize(adding);

  Graph result;
  std::vector<cudnnBackendDescriptor_t> operations{convolution.get()};
  const auto keep = [&](CudnnDescriptor& node) { result.nodes.push_back(std::move(node)); };
  for (CudnnDescriptor* node : {&x, &w, &rule, &convolution, &sum}) keep(*node);
  if (p.adds) {
    const Layout residual =
        layout_of(p, {p.outputs, p.frames, p.rows, p.columns, p.residual_frame, p.residual_row});
    CudnnDescriptor z = tensor(kCudnnResidual, type, residual);
    CudnnDescriptor total = tensor(kCudnnTotal, in_between, output, true);
    CudnnDescriptor add_residual = addition(adding, result.nodes.back(), z, total);
    operations.push_back(add_residual.get());
    for (CudnnDescriptor* node : {&z, &add_residual, &total}) keep(*node);
  }
  CudnnDescriptor add_bias = addition(adding, result.nodes.back(), b, y);
  operations.push_back(add_bias.get());
  for (CudnnDescriptor* node : {&b, &y, &adding, &add_bias}) keep(*node);
  result.graph = CudnnDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(result.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations);
  return result;
}

struct Notes {
  bool tensor_cores = false;
  /// Not deterministic, or less exact than products of the inputs that are summed in fp32. TF32 alone has no
  /// note but that of tensor cores. An engine that converts fp32 inputs further down has one, and counts
  /// here.
  bool inexact = false;
  bool compiles = false;  ///< compiles kernels at run time for each plan
};

bool compiles(const CudnnDescriptor& engine) {
  std::array<cudnnBackendBehaviorNote_t, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT> notes{};
  int64_t count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                 static_cast<int64_t>(notes.size()), &count, notes.data()),
        kGet);
  const auto end = notes.begin() + std::min(count, static_cast<int64_t>(notes.size()));
  return std::find(notes.begin(), end, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != end;
}

Notes notes_of(const CudnnDescriptor& engine) {
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  int64_t count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 static_cast<int64_t>(notes.size()), &count, notes.data()),
        kGet);
  Notes found;
  found.compiles = compiles(engine);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    switch (notes[i]) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        found.tensor_cores = true;
        break;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
        break;
      default:
        found.inexact = true;
    }
  }
  return found;
}

}  // namespace

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &descriptor_), "cudnnBackendCreateDescriptor");
}
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) cudnnBackendDestroyDescriptor(descriptor_);
}
CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

CudnnPlans::CudnnPlans(cudnnHandle_t handle) : handle_(handle) {}

CudnnPlans::CudnnPlans(const std::string& device_properties) : device_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR) {
  check(cudnnBackendSetAttribute(device_.get(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                 static_cast<int64_t>(device_properties.size()), device_properties.data()),
        "cudnnBackendSetAttribute(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)");
  finalize(device_);
}

std::vector<CudnnPlan> CudnnPlans::suggested(const CudnnDescriptor& graph,
                                             cudnnBackendHeurMode_t mode) const {
  const CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (handle_ == nullptr) set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device_);
  if (cudnnBackendFinalize(heuristics.get()) != CUDNN_STATUS_SUCCESS) return {};
  int64_t count = 0;
  const auto results = [&](std::vector<cudnnBackendDescriptor_t> into) {
    check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(into.size()), &count,
                                   into.data()),
          kGet);
  };
  results({});
  std::vector<CudnnPlan> plans(static_cast<size_t>(count));
  std::vector<cudnnBackendDescriptor_t> configurations;
  for (CudnnPlan& plan : plans) {
    plan.configuration = CudnnDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    configurations.push_back(plan.configuration.get());
  }
  results(configurations);
  plans.resize(static_cast<size_t>(count));
  return plans;
}

std::vector<CudnnPlan> CudnnPlans::offers(const ConvolutionProblem& problem,
                                          cudnnBackendHeurMode_t mode) const {
  const Graph graph = graph_of(problem);
  if (handle_ != nullptr) set(graph.graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
  // No engine supports this graph. This is no error: there is no plan.
  if (cudnnBackendFinalize(graph.graph.get()) != CUDNN_STATUS_SUCCESS) return {};
  std::vector<CudnnPlan> plans;
  for (CudnnPlan& plan : suggested(graph.graph, mode)) {
    const CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendDescriptor_t into = engine.get();
    int64_t one = 0;
    check(cudnnBackendGetAttribute(plan.configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &one, &into),
          kGet);
    const Notes notes = notes_of(engine);
    const bool strict = problem.dtype == Dtype::fp32 && !problem.tf32;
    if (notes.inexact || (notes.tensor_cores && strict)) continue;
    plan.engine = value_of<int64_t>(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64);
    plan.tensor_cores = notes.tensor_cores;
    plan.compiles = notes.compiles;
    plan.workspace_bytes =
        value_of<int64_t>(plan.configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
    plans.push_back(std::move(plan));
  }
  return plans;
}

bool CudnnPlans::make(CudnnPlan& plan) const {
  CudnnDescriptor made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (handle_ != nullptr) {
    set(made, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
  } else {
    set(made, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device_);
  }
  set(made, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.configuration);
  if (cudnnBackendFinalize(made.get()) != CUDNN_STATUS_SUCCESS) return false;
  plan.workspace_bytes = value_of<int64_t>(made, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
  plan.plan = std::move(made);
  return true;
}

class CudnnPlans::Offers : public PlanSource<CudnnPlan> {
 public:
  Offers(const CudnnPlans& plans, const ConvolutionProblem& problem) : plans_(plans), problem_(problem) {}

  std::vector<CudnnPlan> offers(bool last_resorts) override {
    return plans_.offers(problem_, last_resorts ? CUDNN_HEUR_MODE_FALLBACK : CUDNN_HEUR_MODE_A);
  }
  bool make(CudnnPlan& plan) override { return plans_.make(plan); }

 private:
  const CudnnPlans& plans_;
  const ConvolutionProblem& problem_;
};

std::string engine_text(const CudnnPlan& plan) {
  std::vector<CudnnDescriptor> knobs;
  std::vector<cudnnBackendDescriptor_t> into;
  for (int i = 0; i < CUDNN_KNOB_TYPE_COUNTS; ++i) {
    knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    into.push_back(knobs.back().get());
  }
  int64_t count = 0;
  check(cudnnBackendGetAttribute(plan.configuration.get(), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(into.size()), &count,
                                 into.data()),
        kGet);
  std::string text = "cuDNN " + std::to_string(plan.engine);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const auto type =
        value_of<cudnnBackendKnobType_t>(knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE);
    const auto value = value_of<int64_t>(knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64);
    text += " k" + std::to_string(type) + "=" + std::to_string(value);
  }
  return text;
}

void CudnnPlans::prefer(std::map<std::string, std::string> engines) {
  if (engines == preferences_) return;
  preferences_ = std::move(engines);
  preferred_.clear();
}

std::vector<CudnnPlan> CudnnPlans::usual_within(const ConvolutionProblem& problem,
                                                int64_t workspace_bytes) const {
  std::vector<CudnnPlan> within;
  for (CudnnPlan& plan : offers(problem, CUDNN_HEUR_MODE_A)) {
    if (plan.compiles || plan.workspace_bytes > workspace_bytes || !make(plan)) continue;
    if (plan.workspace_bytes <= workspace_bytes) within.push_back(std::move(plan));
  }
  return within;
}

/// Null if there is no preference, or if it does not hold here.
const CudnnPlan* CudnnPlans::preferred(const ConvolutionProblem& problem, int64_t workspace_bytes) {
  if (preferences_.empty()) return nullptr;
  const auto [known, is_new] = preferred_.try_emplace(problem);
  std::optional<CudnnPlan>& plan = known->second;
  if (is_new) {
    const auto wanted = preferences_.find(text_of(problem));
    if (wanted == preferences_.end()) return nullptr;
    for (CudnnPlan& offer : offers(problem, CUDNN_HEUR_MODE_A)) {
      if (offer.compiles || engine_text(offer) != wanted->second || !make(offer)) continue;
      plan = std::move(offer);
      plan->by_time = true;
      break;
    }
  }
  return plan && plan->workspace_bytes <= workspace_bytes ? &*plan : nullptr;
}

const CudnnPlan* CudnnPlans::find(const ConvolutionProblem& problem, int64_t workspace_bytes) {
  if (const CudnnPlan* plan = preferred(problem, workspace_bytes)) return plan;
  Offers offers(*this, problem);
  return known_[problem].find(workspace_bytes, offers);
}

ConvolutionEngine::Fit CudnnPlans::fit(const ConvolutionProblem& problem, int64_t workspace_bytes) {
  if (preferred(problem, workspace_bytes) != nullptr) return ConvolutionEngine::Fit::good;
  const CudnnPlan* plan = find(problem, workspace_bytes);
  if (plan == nullptr) return ConvolutionEngine::Fit::none;
  const bool as_wanted = plan->tensor_cores || plan->engine == known_.at(problem).best()->engine;
  return as_wanted ? ConvolutionEngine::Fit::good : ConvolutionEngine::Fit::poor;
}

}  // namespace headroom::gpu
