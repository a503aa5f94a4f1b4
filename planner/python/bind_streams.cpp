#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/plan/plan_file.h"
#include "decoder/session/cpu_streams.h"
#include "decoder/session/environment.h"
#include "decoder/session/gpu_streams.h"
#include "decoder/validator/validator.h"
#include "planner/answer/question.h"
#include "planner/answer/stream_plan.h"
#include "planner/cost/cost_model.h"
#include "planner/python/bindings.h"
#include "planner/python/host_arrays.h"
#include "planner/python/planned_decode.h"
#include "planner/python/python_memory.h"
#include "planner/python/tensor_sink.h"
#include "planner/python/torch_gpu.h"

namespace headroom::python {
namespace {

using namespace nb::literals;

/// Streams by the weights in the caller's tensors, which `make(source)` packs.
template <typename Make>
std::shared_ptr<Streams> with_weights(const Model& model, const nb::dict& tensors, int threads,
                                      const Make& make) {
  const HeldTensors held(tensors, model.name);
  held.weights().require_all(model.graph);
  const nb::gil_scoped_release no_gil;
  start_threads(threads);
  const ParameterSource source = [&](const Parameter& parameter, const Interval& elements, float* out) {
    held.weights().read(parameter, elements, out);
  };
  return make(source);
}

std::shared_ptr<Streams> cpu_streams(std::shared_ptr<Model> model, const nb::dict& tensors, int threads) {
  return with_weights(*model, tensors, threads, [&](const ParameterSource& source) {
    return std::make_shared<CpuStreams>(model, source);
  });
}

std::shared_ptr<Streams> gpu_streams(const std::shared_ptr<Model>& model, std::shared_ptr<gpu::Gpu> gpu,
                                     const std::string& dtype, const nb::dict& tensors, int threads) {
  return with_weights(*model, tensors, threads, [&](const ParameterSource& source) {
    return std::make_shared<GpuStreams>(model, std::move(gpu), parse_dtype(dtype), source);
  });
}

/// A stream that Python holds. Its destructor may wait for other streams.
struct HeldStream {
  explicit HeldStream(std::unique_ptr<OpenStream> opened) : stream(std::move(opened)) {}
  ~HeldStream() {
    const nb::gil_scoped_release no_gil;
    stream.reset();
  }
  HeldStream(const HeldStream&) = delete;
  HeldStream& operator=(const HeldStream&) = delete;
  std::unique_ptr<OpenStream> stream;
};

std::unique_ptr<HeldStream> open_stream(Streams& self, const PlannedStream& planned, const nb::bytes& state) {
  const std::span bytes(static_cast<const std::byte*>(state.data()), state.size());
  const nb::gil_scoped_release no_gil;
  return std::make_unique<HeldStream>(self.open(planned.streams, bytes));
}

nb::bytes state_of(HeldStream& self) {
  const std::vector<std::byte> state = [&] {
    const nb::gil_scoped_release no_gil;
    return self.stream->state();
  }();
  return nb::bytes(state.data(), state.size());
}

/// Writes the frames of a push to what `out` returns, a function of their shape. It is not called if there
/// are none.
void push(HeldStream& self, const nb::object& block, bool ends, const nb::object& out, int threads) {
  const Stored held = stored_array(block, "block");
  std::vector<float> widened;
  const ArrayView input = view_of(held, widened, "block");
  Picture made;
  std::optional<TensorSink> sink;
  const auto make_sink = [&](const PictureShape& shape) -> PictureSink& {
    const nb::gil_scoped_acquire gil;
    made = picture_array(
        out(nb::make_tuple(shape.items, shape.channels, shape.frames, shape.rows, shape.columns)), "out");
    if (static_cast<int64_t>(made.size()) != elements_of(shape))
      throw InputError("out: expected as many elements as the frames have, found " +
                       std::to_string(made.size()));
    return sink.emplace(shape, float_dtype(made.dtype(), "out"), static_cast<std::byte*>(made.data()));
  };
  const nb::gil_scoped_release no_gil;
  start_threads(threads);
  self.stream->push(input, ends, make_sink);
  if (sink) sink->finish();
}

using Shape = std::tuple<int64_t, int64_t, int64_t, int64_t>;

Shape shape_of(const PlannedStream& self, TensorId id) {
  const Tensor& tensor = self.model->graph.tensor(id);
  const Request& request = self.streams.plan.request;
  const Extent extent = extent_of(tensor, latent_of(self.model->graph, request));
  return {request.batch, tensor.channels, extent.y, extent.x};
}

PlannedStream stream_plan_of(std::shared_ptr<Model> model, const std::string& json, int64_t block,
                             int64_t sessions) {
  const nlohmann::json document = nlohmann::json::parse(json, nullptr, false);
  if (document.is_discarded()) throw InputError("state: expected a plan in JSON");
  if (block < 1) throw InputError("state: expected blocks of at least 1 latent frame");
  if (sessions < 1) throw InputError("state: expected at least 1 session");
  StreamPlan streams{plan_from_json(JsonFields(document, "state"), model->graph), block, {}, sessions};
  require_valid(streams.plan, *model, "state");
  const planner::CostModel costs(model->graph, streams.plan.request.device);
  streams.memory = planner::stream_memory(*model, streams.plan, block, costs);
  return {std::move(model), std::move(streams)};
}

void bind_stream_plan(nb::module_& module) {
  nb::class_<PlannedStream>(module, "StreamPlan", "How streams of one size run, and their memory.")
      .def_prop_ro("block", [](const PlannedStream& self) { return self.streams.block; })
      .def_prop_ro("sessions", [](const PlannedStream& self) { return self.streams.streams; })
      .def_prop_ro("device",
                   [](const PlannedStream& self) { return name_of(self.streams.plan.request.device); })
      .def("json",
           [](const PlannedStream& self) { return to_json(self.streams.plan, self.model->graph).dump(); })
      .def_prop_ro("limit_bytes",
                   [](const PlannedStream& self) -> std::optional<int64_t> {
                     const int64_t limit = self.streams.plan.limit_bytes;
                     return limit < planner::kNoLimit ? std::optional(limit) : std::nullopt;
                   })
      .def_prop_ro("state_bytes", [](const PlannedStream& self) { return self.streams.memory.state_bytes; })
      .def_prop_ro("weights_bytes",
                   [](const PlannedStream& self) { return self.streams.memory.weights_bytes; })
      .def_prop_ro("delay_frames", [](const PlannedStream& self) { return self.streams.memory.delay_frames; })
      .def_prop_ro(
          "input_shape", [](const PlannedStream& self) { return shape_of(self, self.model->graph.input()); },
          "N, C, H and W of a block.")
      .def_prop_ro(
          "output_shape",
          [](const PlannedStream& self) { return shape_of(self, self.model->graph.output()); },
          "N, C, H and W of the frames.")
      .def(
          "peak_bytes",
          [](const PlannedStream& self, int64_t streams) { return self.streams.peak_bytes(streams); },
          "streams"_a = 1);
}

}  // namespace

void bind_streams(nb::module_& module) {
  bind_stream_plan(module);
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<HeldStream>(module, "Stream", "One stream.")
      .def("push", &push, "block"_a, "ends"_a, "out"_a, "threads"_a)
      .def("state", &state_of)
      .def(
          "measured_peak_bytes", [](HeldStream& self) { return self.stream->measured_peak_bytes(); },
          Release());
  nb::class_<Streams>(module, "Streams", "Streams of one model, which share packed weights.")
      .def("open", &open_stream, "plan"_a, "state"_a)
      .def("live_bytes", &Streams::live_bytes, Release());
  module.def("stream_plan_of", &stream_plan_of, "model"_a, "json"_a, "block"_a, "sessions"_a,
             "The plan that StreamPlan.json() wrote. Raises InputError.");
  module.def("cpu_streams", &cpu_streams, "model"_a, "tensors"_a, "threads"_a,
             "Packs the weights for streams. Raises InputError naming a parameter that is missing.");
  module.def(
      "gpu_streams",
      [](const std::shared_ptr<Model>& model, const std::string& path, int device, nb::object memory,
         const std::string& dtype, const nb::dict& tensors, int threads) {
        return gpu_streams(model,
                           gpu::open_gpu_in(path, device, std::make_unique<PythonMemory>(std::move(memory))),
                           dtype, tensors, threads);
      },
      "model"_a, "module"_a, "device"_a, "memory"_a, "dtype"_a, "tensors"_a, "threads"_a,
      "cpu_streams() on a GPU, for plans of this dtype. The GPU is given as to gpu_decoder().");
  module.def(
      "torch_streams",
      [](const std::shared_ptr<Model>& model, nb::object executor, const std::string& dtype,
         const nb::dict& tensors, int threads) {
        return gpu_streams(model, std::make_shared<TorchGpu>(std::move(executor)), dtype, tensors, threads);
      },
      "model"_a, "executor"_a, "dtype"_a, "tensors"_a, "threads"_a,
      "gpu_streams() by the operations of an object (headroom_vae/torch_executor).");
}

}  // namespace headroom::python
