#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/gpu/cuda/cudnn_plans.h"
#include "tests/decoder/gpu/cuda/engines/engine_survey.h"
#include "tests/decoder/gpu/cuda/engines/surveyed_decodes.h"
#include "tests/support/sanitized.h"

namespace headroom::test {
namespace {

/// False, and a line that CTest takes for a skipped test, where cuDNN cannot be asked.
bool can_ask_cudnn() {
  const std::string why = why_cudnn_cannot_be_asked();
  if (!why.empty()) WARN(why);
  return why.empty();
}

void check_engines(const std::string& model, const EnginesOfCard& found) {
  const int64_t latent_channels = resolve_model(model).latent_channels;
  CHECK_FALSE(found.engines.empty());
  for (const auto& [engine, use] : found.engines) {
    CAPTURE(engine, use.convolutions, use.most_inputs);
    CHECK_FALSE(use.compiles);
    // What reads a latent of few channels cuDNN would rather compute without.
    CHECK((use.tensor_cores || use.most_inputs <= latent_channels));
  }
  CHECK(found.over_grant == 0);
  CHECK(found.poor == 0);
}

void check_decodes(const std::string& model, LeftFor expected) {
  for (const auto& [dtype, cards] : survey_engines(decodes_of(model, !kSanitized))) {
    for (size_t i = 0; i < kCards.size(); ++i) {
      CAPTURE(model, name_of(dtype), kCards[i].name);
      check_engines(model, cards[i]);
      for (const auto& [why, count] : cards[i].left)
        CHECK((why == expected || why == LeftFor::one_tap_in_place));  // a shortcut, added in place
    }
  }
}

TEST_CASE("on every card each convolution of a picture has an engine that is there, within its workspace") {
  if (!can_ask_cudnn()) return;
  for (const char* model : {"sd15", "sdxl", "sd3", "flux", "sana-dc-ae-f32c32"})
    check_decodes(model, LeftFor::groups);  // Sana's alone
}

TEST_CASE("on every card each convolution of a clip has an engine that is there, within its workspace") {
  if (can_ask_cudnn()) check_decodes("wan2.1", LeftFor::first_frames);
}

using gpu::CudnnDescriptor;

template <typename T>
void set(const CudnnDescriptor& of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
         const std::vector<T>& values) {
  REQUIRE(cudnnBackendSetAttribute(of.get(), name, type, static_cast<int64_t>(values.size()),
                                   values.data()) == CUDNN_STATUS_SUCCESS);
}
void set(const CudnnDescriptor& of, cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::vector{value.get()});
}
void finalize(const CudnnDescriptor& descriptor) {
  REQUIRE(cudnnBackendFinalize(descriptor.get()) == CUDNN_STATUS_SUCCESS);
}

CudnnDescriptor values(int64_t number) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_BFLOAT16});
  set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::vector<int64_t>{1, 64, 32, 32});
  set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::vector<int64_t>{65536, 1, 2048, 64});
  set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::vector{number});
  set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::vector<int64_t>{16});
  finalize(tensor);
  return tensor;
}

/// Whether cuDNN offers an engine for an addition by itself: it has none for that but those that compile.
bool offers_addition(const Card& card) {
  const CudnnDescriptor a = values(1), b = values(2), sum = values(3);
  const CudnnDescriptor adding(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(adding, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, std::vector{CUDNN_POINTWISE_ADD});
  set(adding, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, std::vector{CUDNN_DATA_FLOAT});
  finalize(adding);
  const CudnnDescriptor add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, adding);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, a);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  set(add, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, sum);
  finalize(add);
  const CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, add);
  finalize(graph);
  const CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  const std::string properties = properties_of(card);
  set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
      std::vector<char>(properties.begin(), properties.end()));
  finalize(device);
  const CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{CUDNN_HEUR_MODE_A});
  set(heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  finalize(heuristics);
  // A count by itself is of those that may turn out not to be there.
  const CudnnDescriptor first(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  cudnnBackendDescriptor_t into = first.get();
  int64_t count = 0;
  REQUIRE(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &into) == CUDNN_STATUS_SUCCESS);
  return count == 1;
}

TEST_CASE("over the library in the driver's place cuDNN offers engines that compile too") {
  if (!can_ask_cudnn()) return;
  for (const Card& card : kCards) {
    CAPTURE(card.name);
    CHECK(offers_addition(card));
  }
}

}  // namespace
}  // namespace headroom::test
