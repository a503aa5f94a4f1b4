#include "tests/air_card/cudnn_descriptors.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <stdexcept>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"

namespace headroom::air {
namespace {

/// Memory behind a descriptor handle. Two handles may refer to the same engine.
struct Handle {
  std::shared_ptr<Descriptor> descriptor;
};

struct Context {
  cudaStream_t stream = nullptr;
  int device = current_device();
};

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;
  }
}

cudnnStatus_t refuse(const std::string& why) {
  wrong_use("cuDNN: " + why);
  return CUDNN_STATUS_BAD_PARAM;
}

/// Attribute name in AIR_MUTATE.
const char* mutated_name(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_TENSOR_STRIDES:
      return "strides";
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
      return "dimensions";
    case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
      return "paddings";
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
      return "pointers";
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE:
      return "workspace";
    default:
      return "";
  }
}

void mutate(Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::vector<char>& bytes = descriptor.values[name];
  for (size_t i = 0; i < bytes.size() / sizeof(int64_t); ++i) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    value = mutated(mutated_name(name), i, value);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
}

cudnnStatus_t set(Descriptor& descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t elements, const void* values) {
  if (descriptor.finalized) return refuse("an attribute is set after the descriptor was finalized");
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* begin = static_cast<const char*>(values);
    descriptor.values[name].assign(begin, begin + static_cast<size_t>(elements) * size_of(type));
    if (*mutated_name(name) != '\0') mutate(descriptor, name);
    return CUDNN_STATUS_SUCCESS;
  }
  auto& references = descriptor.references[name];
  references.clear();
  for (int64_t i = 0; i < elements; ++i) {
    references.push_back(descriptor_of(static_cast<const cudnnBackendDescriptor_t*>(values)[i]));
    if (!references.back()->finalized) return refuse("a descriptor refers to one that is not finalized");
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Engine of an engine configuration or of a plan.
const Descriptor& engine_of(const Descriptor& descriptor) {
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    return engine_of(*descriptor.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  return descriptor.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR ? *descriptor.at(CUDNN_ATTR_ENGINECFG_ENGINE)
                                                               : descriptor;
}

/// True if a graph convolves fp32 values.
bool is_fp32(const Descriptor& graph) {
  const Descriptor& x =
      *graph.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)->at(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  return x.enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT;
}

/// Writes the engines for a graph into the configurations that the program has created.
void offer_engines(const Descriptor& heuristics, int64_t room, int64_t* elements, void* results) {
  std::vector<EngineKind> kinds;
  const bool fp32 = is_fp32(*heuristics.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  std::copy_if(std::begin(kEngines), std::end(kEngines), std::back_inserter(kinds),
               [&](const EngineKind& kind) { return kind.for_fp32 == fp32; });
  const auto count = static_cast<int64_t>(kinds.size());
  *elements = room == 0 ? count : std::min(room, count);
  for (int64_t i = 0; i < std::min(room, count); ++i) {
    auto engine = std::make_shared<Descriptor>();
    engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
    engine->finalized = true;
    engine->references[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {
        heuristics.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)};
    engine->set_integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, kinds[static_cast<size_t>(i)].index);
    Descriptor& configuration = *descriptor_of(static_cast<cudnnBackendDescriptor_t*>(results)[i]);
    configuration.references[CUDNN_ATTR_ENGINECFG_ENGINE] = {engine};
    configuration.finalized = true;
  }
}

/// Each configuration has one knob. Its value is made up.
void write_knobs(const Descriptor& configuration, int64_t* elements, void* values) {
  *elements = 1;
  Descriptor& knob = *descriptor_of(*static_cast<cudnnBackendDescriptor_t*>(values));
  const int64_t engine = engine_of(configuration).integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  knob.set_integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, engine % 10);
  knob.finalized = true;
}

int64_t numerical_notes(const Descriptor& engine, void* notes) {
  if (!kind_of(engine).tensor_cores) return 0;
  *static_cast<cudnnBackendNumericalNote_t*>(notes) = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  return 1;
}

cudnnStatus_t get(const std::shared_ptr<Descriptor>& descriptor, cudnnBackendAttributeName_t name,
                  int64_t room, int64_t* elements, void* values) {
  *elements = 1;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      offer_engines(*descriptor, room, elements, values);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      static_cast<Handle*>(*static_cast<cudnnBackendDescriptor_t*>(values))->descriptor =
          descriptor->at(CUDNN_ATTR_ENGINECFG_ENGINE);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      write_knobs(*descriptor, elements, values);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
      *static_cast<cudnnBackendKnobType_t*>(values) = CUDNN_KNOB_TYPE_TILE_SIZE;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
      *static_cast<int64_t*>(values) = descriptor->integer(name);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      *elements = 0;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      *elements = numerical_notes(*descriptor, values);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      *static_cast<int64_t*>(values) = descriptor->integer(name);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<int64_t*>(values) = kind_of(engine_of(*descriptor)).workspace_bytes;
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t finalize(Descriptor& descriptor) {
  if (descriptor.finalized) return refuse("a descriptor is finalized twice");
  if (descriptor.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR && !extents_fit(descriptor))
    return refuse("the extents of a convolution do not fit");
  descriptor.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

/// Runs a call. A missing attribute counts as a wrong use.
template <typename Body>
cudnnStatus_t guarded(const char* name, cudnnStatus_t failure, const Body& body) {
  return call(name, failure, [&] {
    try {
      return body();
    } catch (const std::exception& error) {
      return refuse(std::string(name) + ": " + error.what());
    }
  });
}

}  // namespace

const EngineKind& kind_of(const Descriptor& engine) {
  const int64_t index = engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (const EngineKind& kind : kEngines) {
    if (kind.index == index) return kind;
  }
  throw std::invalid_argument("an engine that is not known");
}

std::vector<int64_t> Descriptor::integers(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  std::vector<int64_t> all(found->second.size() / sizeof(int64_t));
  std::memcpy(all.data(), found->second.data(), all.size() * sizeof(int64_t));
  return all;
}
int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  const std::vector<int64_t> all = integers(name);
  return all.empty() ? 0 : all.front();
}
int Descriptor::enumerator(cudnnBackendAttributeName_t name) const {
  int value = 0;
  const auto found = values.find(name);
  if (found != values.end())
    std::memcpy(&value, found->second.data(), std::min(sizeof value, found->second.size()));
  return value;
}
void Descriptor::set_integer(cudnnBackendAttributeName_t name, int64_t value) {
  values[name].assign(reinterpret_cast<const char*>(&value), reinterpret_cast<const char*>(&value + 1));
}
const std::shared_ptr<Descriptor>& Descriptor::at(cudnnBackendAttributeName_t name) const {
  return references.at(name).at(0);
}

const std::shared_ptr<Descriptor>& descriptor_of(cudnnBackendDescriptor_t handle) {
  return static_cast<Handle*>(handle)->descriptor;
}

AIR_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return call(__func__, CUDNN_STATUS_NOT_INITIALIZED, [&] {
    *handle = reinterpret_cast<cudnnHandle_t>(new Context);
    change("handles", 1);
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return call(__func__, CUDNN_STATUS_INTERNAL_ERROR, [&] {
    delete reinterpret_cast<Context*>(handle);
    change("handles", -1);
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return call(__func__, CUDNN_STATUS_INTERNAL_ERROR, [&] {
    reinterpret_cast<Context*>(handle)->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  return call(__func__, CUDNN_STATUS_INTERNAL_ERROR, [&] {
    *stream = reinterpret_cast<Context*>(handle)->stream;
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API size_t cudnnGetVersion() {
  return 91900;
}
AIR_API const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS     ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM"
                                            : "CUDNN_STATUS_EXECUTION_FAILED";
}
AIR_API void cudnnGetLastErrorString(char* text, size_t bytes) {
  if (bytes > 0) text[0] = '\0';
}

AIR_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                                   cudnnBackendDescriptor_t* to) {
  return call(__func__, CUDNN_STATUS_INTERNAL_ERROR, [&] {
    auto* made = new Handle{std::make_shared<Descriptor>()};
    made->descriptor->type = type;
    *to = made;
    change("descriptors", 1);
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  return call(__func__, CUDNN_STATUS_INTERNAL_ERROR, [&] {
    delete static_cast<Handle*>(handle);
    change("descriptors", -1);
    return CUDNN_STATUS_SUCCESS;
  });
}
AIR_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                               cudnnBackendAttributeName_t name,
                                               cudnnBackendAttributeType_t type, int64_t elements,
                                               const void* values) {
  return guarded(__func__, CUDNN_STATUS_INTERNAL_ERROR,
                 [&] { return set(*descriptor_of(handle), name, type, elements, values); });
}
AIR_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
                                               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                                               int64_t room, int64_t* elements, void* values) {
  return guarded(__func__, CUDNN_STATUS_INTERNAL_ERROR,
                 [&] { return get(descriptor_of(handle), name, room, elements, values); });
}
AIR_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return guarded(__func__, CUDNN_STATUS_NOT_SUPPORTED, [&] { return finalize(*descriptor_of(handle)); });
}
AIR_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                          cudnnBackendDescriptor_t pack) {
  return guarded(__func__, CUDNN_STATUS_EXECUTION_FAILED, [&] {
    count("convolutions");
    const Context& context = *reinterpret_cast<Context*>(handle);
    if (!is_on_current_device("cuDNN's handle", context.device)) return CUDNN_STATUS_EXECUTION_FAILED;
    return execute(*descriptor_of(plan), *descriptor_of(pack), context.stream);
  });
}

}  // namespace headroom::air
