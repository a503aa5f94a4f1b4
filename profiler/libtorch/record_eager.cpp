#include "profiler/libtorch/record_eager.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <optional>

#include "decoder/files/latent_file.h"
#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/machine/free_memory.h"
#include "decoder/weights/random_weights.h"
#include "profiler/eager/eager_decode.h"
#include "profiler/libtorch/asked_decodes.h"
#include "profiler/libtorch/eager_device.h"
#include "profiler/libtorch/eager_run.h"
#include "profiler/libtorch/reported_memory.h"

namespace headroom::profiler {
namespace {

/// As the decoder takes it, under the name that it is recorded by.
at::Tensor latent_tensor(const Model& model, const Array& latent, const EagerOptions& options) {
  at::Tensor values = at::empty(latent.shape, at::kFloat);
  std::copy(latent.values.begin(), latent.values.end(), values.data_ptr<float>());
  if (eager_class(model.class_name) == EagerClass::wan && values.dim() == 4) values = values.unsqueeze(2);
  return values.to(at::TensorOptions().device(options.device).dtype(scalar_type(options.dtype)), false, false,
                   options.layout == EagerLayout::channels_last ? at::MemoryFormat::ChannelsLast
                                                                : at::MemoryFormat::Preserve);
}

Array array_of(const at::Tensor& picture, bool one_frame) {
  const at::Tensor values =
      (one_frame && picture.dim() == 5 ? picture.squeeze(2) : picture).to(at::kCPU, at::kFloat).contiguous();
  const float* begin = values.data_ptr<float>();
  return {values.sizes().vec(), {begin, begin + values.numel()}};
}

/// Of the first tile, which has as many positions as the rule says along an axis that is cut.
int64_t first_side(const Recipe& recipe) {
  return std::max(recipe.tiles.y.front().latent.length(), recipe.tiles.x.front().latent.length());
}

double pixels(const AskedDecode& asked) {
  return double(asked.request.width_pixels * asked.request.height_pixels);
}

/// Records the decodes of one layout, whose weights it holds.
class Recorder {
 public:
  Recorder(const Model& model, const EagerRequest& request, const EagerDevice& device,
           const EagerWeights& weights)
      : model_(model), request_(request), device_(device), weights_(weights) {}

  RecordedEagerDecode record(const AskedDecode& asked, const std::function<void(const Op&)>& running,
                             const EagerPictures& pictures) {
    const int64_t counted_bytes = asked.tiles ? 0 : counted(asked);
    require_room(asked, counted_bytes);
    RecordedEagerDecode found = once(asked, running, pictures);
    for (int i = 1; i < request_.repeats; ++i) keep_quickest(once(asked, running, {}), found);
    found.width_pixels = asked.request.width_pixels;
    found.height_pixels = asked.request.height_pixels;
    found.frames = request_.frames;
    found.batch = request_.batch;
    found.layout = asked.layout;
    if (asked.layout == EagerLayout::nchw) found.counted_peak_bytes = counted_bytes;
    return found;
  }

 private:
  Array latent_of(const AskedDecode& asked) const {
    const Extent extent =
        latent_extent(model_, asked.request.width_pixels, asked.request.height_pixels, request_.frames);
    const std::vector<int64_t> shape = latent_shape(model_, extent, request_.batch);
    if (!request_.latent) return random_latent(shape, 0);
    Array latent = with_batch_axis(model_, *request_.latent);
    // Of one frame there may be an axis for the time, or none.
    if (latent.shape.size() == 5 && shape.size() == 4 && latent.shape[2] == 1)
      latent.shape.erase(latent.shape.begin() + 2);
    if (latent.shape != shape)
      throw InputError("--latent: expected the shape that --sizes, --frames and --batch ask for");
    return latent;
  }

  /// Before memory is taken that is not there.
  void require_room(const AskedDecode& asked, int64_t counted_bytes) const {
    if (asked.tiles || request_.device != DeviceKind::cpu) return;
    constexpr int64_t kLibraries = int64_t{512} << 20;
    const int64_t needed = counted_bytes + kLibraries, free = available_bytes();
    if (needed > free)
      throw DoesNotFit("LibTorch's decode of " + text_of(asked) + " takes about " + format_bytes(needed) +
                           "; " + format_bytes(free) + " are free",
                       needed);
  }

  int64_t counted(const AskedDecode& asked) const {
    const std::optional<EagerDecode> decode = eager_decode(model_, asked.request);
    return decode ? decode->peak_bytes : 0;
  }

  static void keep_quickest(const RecordedEagerDecode& again, RecordedEagerDecode& found) {
    found.seconds = std::min(found.seconds, again.seconds);
    for (size_t i = 0; i < found.layers.size(); ++i)
      found.layers[i].seconds = std::min(found.layers[i].seconds, again.layers[i].seconds);
  }

  RecordedEagerDecode once(const AskedDecode& asked, const std::function<void(const Op&)>& running,
                           const EagerPictures& pictures) {
    device_.drop_cache();
    AllocationLog log;
    ReportedMemory reported(log, device_.device().type());
    for (const auto& [name, tensor] : weights_.all()) {
      void* memory = tensor.storage().mutable_data();
      reported.add(memory, static_cast<int64_t>(tensor.storage().nbytes()));
      log.name(reinterpret_cast<uint64_t>(memory), "weights");
    }
    const at::Tensor latent =
        latent_tensor(model_, latent_of(asked),
                      {.device = device_.device(), .dtype = request_.dtype, .layout = asked.layout});
    log.name(reinterpret_cast<uint64_t>(latent.storage().data()), "latent");
    log.begin_decode();
    EagerRun run(model_, weights_, device_, log, running);
    at::Tensor picture = asked.tiles ? run.decode_tiles(latent, *asked.tiles) : run.decode(latent);
    RecordedEagerDecode found = described(log, run.joining());
    if (asked.tiles) {
      found.tile = first_side(*asked.tiles);
      found.tile_count = static_cast<int64_t>(tile_count(*asked.tiles));
    }
    if (pictures) pictures(found, array_of(picture, request_.frames == 1));
    return found;
  }

  /// With names, and without what did not run.
  RecordedEagerDecode described(const AllocationLog& log, size_t joining) const {
    RecordedEagerDecode found = log.recorded(joining + 1);
    const std::vector<Op>& ops = model_.graph.ops();
    for (size_t i = 0; i < ops.size(); ++i) {
      found.layers[i].name = ops[i].name;
      found.layers[i].kind = name_of(ops[i].kind);
    }
    RecordedLayer& join = found.layers.back();
    join.name = join.kind = "join";
    for (const RecordedLayer& layer : found.layers) found.seconds += layer.seconds;
    if (const size_t peak = log.peak_layer(joining + 1); peak <= joining)
      found.peak_layer = found.layers[peak].name;
    if (join.live_bytes == 0) found.layers.pop_back();
    return found;
  }

  const Model& model_;
  const EagerRequest& request_;
  const EagerDevice& device_;
  const EagerWeights& weights_;
};

EagerRecording record_all(const Model& model, const EagerRequest& request, const ParameterSource& source,
                          const EagerProgress& progress, const EagerPictures& pictures) {
  const c10::InferenceMode without_gradients;
  const std::vector<AskedDecode> list = asked_decodes(model, request);
  const EagerDevice device(request.device);
  if (request.threads > 0) at::set_num_threads(request.threads);
  EagerRecording recording;
  recording.model = request.model;
  recording.class_name = model.class_name;
  recording.dtype = request.dtype;
  recording.device_kind = request.device;
  recording.libraries = libtorch_version();
  recording.threads = request.device == DeviceKind::cpu ? at::get_num_threads() : 1;
  double done = 0, all = 0;
  for (const AskedDecode& asked : list) all += pixels(asked) * request.repeats;
  for (const EagerLayout layout : request.layouts) {
    if (std::none_of(list.begin(), list.end(),
                     [&](const AskedDecode& asked) { return asked.layout == layout; }))
      continue;
    const EagerWeights weights(model.graph, source, {device.device(), request.dtype, layout});
    recording.weights_bytes = 0;
    for (const auto& [name, tensor] : weights.all()) recording.weights_bytes += int64_t(tensor.nbytes());
    Recorder recorder(model, request, device, weights);
    for (const AskedDecode& asked : list) {
      if (asked.layout != layout) continue;
      progress(done / all, text_of(asked));
      recording.decodes.push_back(recorder.record(
          asked, [&](const Op& op) { progress(done / all, text_of(asked) + ", " + op.name); }, pictures));
      done += pixels(asked) * request.repeats;
    }
  }
  return recording;
}

}  // namespace

EagerRecording record_eager(const Model& model, const EagerRequest& request, const ParameterSource& source,
                            const EagerProgress& progress, const EagerPictures& pictures) {
  try {
    return record_all(model, request, source, progress, pictures);
  } catch (const c10::Error& error) {
    throw DeviceError(std::string("LibTorch: ") + error.what_without_backtrace());
  }
}

}  // namespace headroom::profiler
