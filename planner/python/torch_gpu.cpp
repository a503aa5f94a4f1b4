#include "planner/python/torch_gpu.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace headroom::python {
namespace {

namespace nb = nanobind;

uintptr_t number(const void* address) {
  return reinterpret_cast<uintptr_t>(address);
}

nb::tuple plain(const gpu::Box& box) {
  return nb::make_tuple(box.t.begin, box.t.end, box.y.begin, box.y.end, box.x.begin, box.x.end);
}

nb::tuple plain(const gpu::Size& size) {
  return nb::make_tuple(size.t, size.y, size.x);
}

/// The addresses of the blocks, 0 for those that are not on the device; then the layout.
nb::tuple plain(const gpu::View& view) {
  nb::list blocks;
  for (int32_t i = 0; i < view.blocks; ++i) {
    const uint32_t units = view.block_units[i];
    blocks.append(units == gpu::kAbsent ? uintptr_t{0}
                                        : number(view.base) + uintptr_t{units} * gpu::kBlockUnit);
  }
  return nb::make_tuple(blocks, name_of(view.dtype), plain(view.region), view.channels, view.block_rows);
}

nb::tuple plain(const gpu::DepthLayout& layout) {
  return nb::make_tuple(layout.begin, layout.pixel_step, layout.channel_step, layout.repeats);
}

nb::tuple plain(const gpu::FoldSteps& fold) {
  return nb::make_tuple(fold.frames, fold.zeros, fold.channel_step, fold.frame_step, fold.row_step,
                        fold.column_step, fold.group);
}

nb::tuple plain(const gpu::Planes& planes) {
  return nb::make_tuple(number(planes.first), name_of(planes.dtype), planes.channel, planes.frame, planes.row,
                        planes.column);
}

nb::tuple plain(const gpu::ConvolutionShape& shape) {
  const Axes<int32_t>& stride = shape.stride;
  return nb::make_tuple(shape.inputs, shape.outputs, shape.groups,
                        nb::make_tuple(shape.frames, shape.rows, shape.columns), shape.upsamples,
                        static_cast<int>(shape.before_first), shape.frames_ahead,
                        nb::make_tuple(stride.t, stride.y, stride.x), shape.begins_at_own);
}

nb::tuple plain(const gpu::Pack::List& list) {
  const nb::tuple extent = nb::make_tuple(list.outputs, list.frames, list.rows, list.columns, list.inputs);
  const nb::tuple strides = nb::make_tuple(list.output, list.frame, list.row, list.column, list.input);
  const nb::tuple by =
      nb::make_tuple(number(list.by), name_of(list.by_dtype), list.summed, list.by_output, list.by_summed);
  const nb::tuple addend =
      nb::make_tuple(number(list.addend), name_of(list.addend_dtype), list.addend_output, list.checks_addend);
  return nb::make_tuple(number(list.from), name_of(list.from_dtype), number(list.to), name_of(list.to_dtype),
                        list.constant, extent, strides, list.phases, by, addend, list.scale);
}

/// Calls a method of the executor for each kind of call.
struct Runs {
  const nb::object& executor;

  template <typename... Arguments>
  void run(const char* method, const Arguments&... arguments) const {
    executor.attr(method)(arguments...);
  }
  void operator()(const gpu::Gather& c) const {
    run("gather", plain(c.source), plain(c.target), plain(c.picture));
  }
  void operator()(const gpu::Copy& c) const {
    run("copy_box", plain(c.source), plain(c.target), plain(c.region));
  }
  void operator()(const gpu::Add& c) const {
    run("add", plain(c.source), plain(c.target), name_of(c.activation), plain(c.region));
  }
  void operator()(const gpu::Normalise& c) const {
    run("normalise", plain(c.source), plain(c.target), number(c.scale), number(c.shift), c.by_frame,
        name_of(c.activation), plain(c.picture));
  }
  void operator()(const gpu::RmsNorm& c) const {
    run("rms_norm", plain(c.source), plain(c.target), number(c.weight), number(c.bias), c.epsilon,
        name_of(c.activation), plain(c.region), c.centred);
  }
  void operator()(const gpu::Upsample& c) const {
    run("upsample", plain(c.source), plain(c.target), c.factor_y, c.factor_x, plain(c.picture));
  }
  void operator()(const gpu::DepthToSpace& c) const {
    run("depth_to_space", plain(c.source), plain(c.target),
        nb::make_tuple(c.factor_t, c.factor_y, c.factor_x), plain(c.first), plain(c.later), c.frame_step,
        plain(c.region));
  }
  void operator()(const gpu::SpaceToDepth& c) const {
    run("space_to_depth", plain(c.source), plain(c.target),
        nb::make_tuple(c.stride_t, c.stride_y, c.stride_x), plain(c.first), plain(c.later), plain(c.region));
  }
  void operator()(const gpu::Gate& c) const {
    run("gate", plain(c.source), plain(c.target), plain(c.region));
  }
  void operator()(const gpu::Modulate& c) const {
    run("modulate", plain(c.source), plain(c.factors), plain(c.target), name_of(c.activation),
        plain(c.region));
  }
  void operator()(const gpu::Interpolate& c) const {
    run("interpolate", plain(c.source), plain(c.target), nb::make_tuple(c.factor_t, c.factor_y, c.factor_x),
        plain(c.source_extent), plain(c.region));
  }
  void operator()(const gpu::UnfoldFrames& c) const {
    run("unfold_frames", plain(c.first), plain(c.rest), plain(c.target), plain(c.region));
  }
  void operator()(const gpu::Activate& c) const {
    run("activate", plain(c.tile), name_of(c.activation), plain(c.region));
  }
  void operator()(const gpu::FillOutside& c) const {
    run("fill_outside", plain(c.tile), name_of(c.edges), plain(c.picture));
  }
  void operator()(const gpu::AddMoments& c) const {
    run("add_moments", plain(c.source), plain(c.region), c.groups, c.by_frame, number(c.state));
  }
  void operator()(const gpu::Affine& c) const {
    run("affine", number(c.state), c.sets, c.groups, c.channels, c.run_frames, c.epsilon, number(c.weight),
        number(c.bias), number(c.scale), number(c.shift));
  }
  void operator()(const gpu::AddKeyValueSums& c) const {
    run("add_key_value_sums", plain(c.chunk), plain(c.region), c.heads, c.channels, number(c.sums));
  }
  void operator()(const gpu::LinearAttention& c) const {
    run("linear_attention", plain(c.chunk), plain(c.target), plain(c.region), c.heads, c.channels,
        c.first_channel, number(c.sums), c.epsilon);
  }
  void operator()(const gpu::Convolve& c) const {
    run("convolve", plain(c.input), c.adds() ? nb::object(plain(c.residual)) : nb::none(), plain(c.target),
        plain(c.region), plain(c.shape), number(c.kernel), number(c.bias));
  }
  void operator()(const gpu::Attend& c) const {
    run("attend", plain(c.queries), plain(c.keys), plain(c.values), plain(c.target), c.query_frame,
        c.target_frame, nb::make_tuple(c.key_frames.begin, c.key_frames.end), c.interleaved,
        nb::make_tuple(number(c.state.sums), number(c.state.largest), number(c.state.weights)), c.first,
        c.last);
  }
  void operator()(const gpu::EmitPlanes& c) const {
    run("emit_planes", plain(c.source), plain(c.region), c.shift, plain(c.target), number(c.not_finite));
  }
  void operator()(const gpu::LoadPlanes& c) const {
    run("load_planes", plain(c.source), plain(c.target), number(c.not_finite));
  }
  void operator()(const gpu::CheckFinite& c) const {
    run("check_finite", number(c.values), c.count, number(c.not_finite));
  }
  void operator()(const gpu::Pack& c) const {
    for (int32_t i = 0; i < c.lists; ++i) run("pack", plain(c.list[i]), number(c.not_finite));
  }
  void operator()(const gpu::Emit& c) const {
    if (c.format != PixelFormat::fp32) throw std::logic_error("PyTorch's executor emits fp32");
    run("emit", plain(c.source), plain(c.region), c.shift, number(c.pixels), number(c.not_finite));
  }
  // Convolutions interleave phases themselves, and nothing packed stays between decodes.
  void operator()(const gpu::Interleave&) const { throw std::logic_error("PyTorch's executor: interleave"); }
  void operator()(const gpu::Checksum&) const { throw std::logic_error("PyTorch's executor: checksum"); }
};

}  // namespace

TorchGpu::TorchGpu(nb::object executor) : executor_(std::move(executor)) {}

TorchGpu::~TorchGpu() {
  const nb::gil_scoped_acquire gil;
  executor_.reset();
}

std::string TorchGpu::text(const char* method) const {
  const nb::gil_scoped_acquire gil;
  return nb::cast<std::string>(executor_.attr(method)());
}

std::byte* TorchGpu::reserve(int64_t bytes) {
  const nb::gil_scoped_acquire gil;
  return reinterpret_cast<std::byte*>(nb::cast<uintptr_t>(executor_.attr("reserve")(bytes)));
}

void TorchGpu::release() noexcept {
  DryGpu::release();
  const nb::gil_scoped_acquire gil;
  try {
    executor_.attr("release")();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("headroom: giving a device's memory back");
  }
}

void TorchGpu::run(const gpu::Call& call) {
  const nb::gil_scoped_acquire gil;
  std::visit(Runs{executor_}, call);
}

void TorchGpu::copy(gpu::Stream, void* to, const void* from, int64_t bytes) {
  const nb::gil_scoped_acquire gil;
  executor_.attr("copy")(number(to), number(from), bytes);
}

void TorchGpu::clear(void* memory, int64_t bytes) {
  const nb::gil_scoped_acquire gil;
  executor_.attr("clear")(number(memory), bytes);
}

void TorchGpu::wait_on_host(gpu::Event) {
  const nb::gil_scoped_acquire gil;
  executor_.attr("synchronize")();
}

}  // namespace headroom::python
