#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/cpu/checksums.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/files/require_apart.h"
#include "decoder/plan/stats_file.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/trace_file.h"
#include "planner/answer/learnt.h"
#include "planner/python/bindings.h"
#include "planner/python/cpu_decoder.h"
#include "planner/python/device_sink.h"
#include "planner/python/gpu_decoder.h"
#include "planner/python/host_arrays.h"
#include "planner/python/python_memory.h"
#include "planner/python/tensor_sink.h"
#include "planner/python/torch_gpu.h"

namespace headroom::python {
namespace {

using namespace nb::literals;

/// Reports progress to a Python function, at most every 50 ms. A signal or an exception of the function ends
/// the decode.
class PythonProgress final : public Progress {
 public:
  explicit PythonProgress(nb::object function) : function_(std::move(function)) {}

  void tell(const ProgressNews& news) override {
    const auto* tile = std::get_if<TileDone>(&news);
    if (tile != nullptr) share_ = tile->share;
    if (const auto* steps = std::get_if<StepsDone>(&news)) share_ = steps->share;
    const auto now = std::chrono::steady_clock::now();
    const bool last = tile != nullptr && tile->share >= 1;
    if (!last && now - told_ < std::chrono::milliseconds(50)) return;
    told_ = now;
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!function_.is_none()) function_(share_);
  }

 private:
  nb::object function_;
  double share_ = 0;
  std::chrono::steady_clock::time_point told_{};
};

/// Optional arguments of a decode.
struct DecodeOptions {
  explicit DecodeOptions(const nb::kwargs& given) {
    if (given.contains("threads")) threads = nb::cast<int>(given["threads"]);
    if (given.contains("progress")) progress = given["progress"];
    if (given.contains("trace_file")) trace_file = nb::cast<std::string>(given["trace_file"]);
  }
  int threads = 0;
  nb::object progress = nb::none();
  std::string trace_file;
};

/// A tensor on the GPU of the decodes, as (address, dtype, shape, strides).
using OnDevice = std::tuple<uintptr_t, std::string, std::vector<int64_t>, std::vector<int64_t>>;

DeviceArray device_array(const nb::handle& tensor) {
  auto [address, dtype, shape, strides] = nb::cast<OnDevice>(tensor);
  return {reinterpret_cast<std::byte*>(address),  // NOLINT: an address of Python's
          parse_dtype(dtype), std::move(shape), std::move(strides)};
}

bool is_on_device(const nb::handle& tensor) {
  return nb::isinstance<nb::tuple>(tensor);
}

/// The decode's input, on the host or on the GPU.
class Input {
 public:
  explicit Input(const nb::object& latent) {
    if (is_on_device(latent)) {
      array_ = device_array(latent);
      view_.emplace(array_);
    } else {
      held_ = stored_array(latent, "latent");
      view_ = view_of(held_, widened_);
    }
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  const ArrayView& view() const { return *view_; }

 private:
  Stored held_;
  std::vector<float> widened_;
  DeviceArray array_;
  std::optional<ArrayView> view_;
};

/// Target of the picture. `out` is a tensor on the host or on the GPU, or a function that returns one.
class Output {
 public:
  Output(const PictureShape& shape, nb::object out) : shape_(shape), out_(std::move(out)) {}

  /// Calls the function. Takes the GIL.
  PictureSink& sink() {
    const nb::gil_scoped_acquire gil;
    if (PyCallable_Check(out_.ptr()) != 0) out_ = out_();
    if (is_on_device(out_)) {
      DeviceArray array = device_array(out_);
      require_elements(
          std::accumulate(array.shape.begin(), array.shape.end(), int64_t{1}, std::multiplies<>{}));
      return sink_.emplace<DeviceSink>(shape_, std::move(array));
    }
    held_ = picture_array(out_, "out");
    require_elements(static_cast<int64_t>(held_.size()));
    return sink_.emplace<TensorSink>(shape_, float_dtype(held_.dtype(), "out"),
                                     static_cast<std::byte*>(held_.data()));
  }

 private:
  void require_elements(int64_t found) const {
    if (found != elements_of(shape_)) {
      throw InputError("out: expected as many elements as the picture has, found " + std::to_string(found));
    }
  }

  const PictureShape shape_;
  nb::object out_;
  Picture held_;
  std::variant<std::monostate, TensorSink, DeviceSink> sink_;
};

/// The parameters, if any, where they are: on the host or on the GPU.
struct Weights {
  Weights(const std::optional<nb::dict>& tensors, const std::string& origin) {
    if (!tensors) return;
    if (tensors->size() == 0 || !is_on_device((*tensors->begin()).second)) {
      held.emplace(*tensors, origin);
      return;
    }
    std::unordered_map<std::string, DeviceArray> arrays;
    for (const auto& [key, value] : *tensors) arrays.emplace(nb::cast<std::string>(key), device_array(value));
    card.emplace(origin, std::move(arrays));
  }
  /// Throws InputError naming the first parameter of the graph that is missing or has another shape.
  void require_all(const Graph& graph) const {
    if (held) return held->weights().require_all(graph);
    if (card) card->require_all(graph);
  }
  std::optional<HeldTensors> held;
  std::optional<CardParameters> card;
};

std::string decode(InProcessDecoder& self, const PlannedDecode& planned,
                   const std::optional<nb::dict>& tensors, const nb::object& latent, const nb::object& out,
                   const nb::kwargs& given) {
  const DecodeOptions options(given);
  Output output(picture_shape(planned.model->graph, planned.plan.request), out);
  const Weights weights(tensors, planned.plan.request.model);
  const Input input(latent);
  PythonProgress told(options.progress);
  const nb::gil_scoped_release no_gil;
  std::optional<TraceRecorder> recorder;
  if (!options.trace_file.empty()) recorder.emplace();
  ProgressEvents events(told, recorder ? &*recorder : nullptr);
  const RunStats stats = self.decode({.plan = planned.plan,
                                      .weights = weights.held ? &weights.held->weights() : nullptr,
                                      .card = weights.card ? &*weights.card : nullptr,
                                      .latent = input.view(),
                                      .sink = [&]() -> PictureSink& { return output.sink(); },
                                      .threads = options.threads,
                                      .events = &events,
                                      .loading = [&](double share) { events.loading(share); }});
  if (recorder) {  // recording takes time of its own
    write_trace(options.trace_file, described(recorder->finish(), planned.plan, stats), planned.plan,
                planned.model->graph);
  } else {
    planner::learn(planned.plan, stats);
  }
  return to_json(stats).dump();
}

/// Memory blocks as (address, bytes).
using Stretches = std::vector<std::pair<uintptr_t, size_t>>;

std::vector<std::span<const std::byte>> spans_of(const Stretches& stretches) {
  std::vector<std::span<const std::byte>> spans;
  spans.reserve(stretches.size());
  for (const auto& [address, bytes] : stretches) {
    if (address == 0 && bytes != 0)
      throw InputError("weights: expected " + std::to_string(bytes) + " bytes of values, found none");
    spans.emplace_back(reinterpret_cast<const std::byte*>(address), bytes);  // NOLINT: an address of Python's
  }
  return spans;
}

}  // namespace

void bind_decoder(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<InProcessDecoder>(module, "Decoder", "Decodes of one model in this process.")
      .def("decode", &decode, "plan"_a, "tensors"_a.none(), "latent"_a, "out"_a, "options"_a,
           "Decodes `latent` into `out`, a tensor or a function that returns one when the decode's memory is "
           "reserved. `tensors` are the model's parameters by name, or None to reuse the packed ones of the "
           "previous decode. Tensors are in the CPU's memory, or on the decoder's GPU as (address, dtype, "
           "shape, strides). Keywords: threads=0 "
           "(OMP_NUM_THREADS, or one for each processor), progress=None (called with the finished "
           "share), trace_file=''. Returns the run's figures as JSON.")
      .def(
          "has_weights",
          [](InProcessDecoder& self, const PlannedDecode& planned) { return self.has_weights(planned.plan); },
          "plan"_a, Release())
      .def(
          "checksums",
          [](InProcessDecoder& self, const Stretches& stretches) {
            const nb::gil_scoped_release no_gil;
            return self.checksums(spans_of(stretches));
          },
          "stretches"_a,
          "A checksum of each stretch of memory, (address, bytes), of the device that decodes run on.")
      .def("keeps_folded", &InProcessDecoder::keeps_folded,
           "True if weights that the host folded stay between decodes of tensors on the GPU.")
      .def("drop_weights", &InProcessDecoder::drop_weights, Release())
      .def("held_bytes", &InProcessDecoder::held_bytes, Release());
  module.def(
      "cpu_decoder",
      [](std::shared_ptr<Model> model) -> std::unique_ptr<InProcessDecoder> {
        return std::make_unique<CpuDecoder>(std::move(model));
      },
      "model"_a, "A Decoder on the CPU.");
  module.def(
      "gpu_decoder",
      [](std::shared_ptr<Model> model, const std::string& path, int device,
         nb::object memory) -> std::unique_ptr<InProcessDecoder> {
        return std::make_unique<GpuDecoder>(std::move(model), path, device,
                                            std::make_unique<PythonMemory>(std::move(memory)));
      },
      "model"_a, "module"_a, "device"_a, "memory"_a,
      "A Decoder on the GPU of CUDA's number `device`, by the module of this path, in memory of an object "
      "with name(), "
      "reserve(bytes), which returns an address, stream(), which returns a CUDA stream's handle, and "
      "release(). Raises DeviceError.");
  module.def(
      "torch_decoder",
      [](std::shared_ptr<Model> model, nb::object executor) -> std::unique_ptr<InProcessDecoder> {
        return std::make_unique<GpuDecoder>(std::move(model),
                                            std::make_unique<TorchGpu>(std::move(executor)));
      },
      "model"_a, "executor"_a, "A Decoder by the operations of an object (headroom_vae/torch_executor).");
  module.def(
      "require_apart",
      [](const std::string& file, const std::string& model) {
        require_apart({{"file:", file}}, {{"the model", model}});
      },
      "file"_a, "model"_a, "Raises InputError if an output would overwrite a file of a model's folder.");
  module.def(
      "write_file_whole",
      [](const std::string& file, const std::string& text) { write_file_whole(file, text); }, "file"_a,
      "text"_a, "Writes a file whole or not at all. Raises InputError and DeviceError.");
  module.def("processor_name", &processor_name, "The CPU's name.");
  module.def(
      "checksums",
      [](const Stretches& stretches) {
        const nb::gil_scoped_release no_gil;
        return checksums(spans_of(stretches));
      },
      "stretches"_a, "A checksum of each stretch of the CPU's memory, (address, bytes).");
  module.def(
      "require_parameters",
      [](const Model& model, const nb::dict& tensors, const std::string& origin) {
        Weights(tensors, origin).require_all(model.graph);
      },
      "model"_a, "tensors"_a, "origin"_a,
      "Raises InputError naming the first parameter that is missing or has another shape.");
}

}  // namespace headroom::python
