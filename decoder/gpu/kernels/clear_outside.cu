#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

struct Zeros {
  View tile;

  struct Loaded {};
  struct Row {};

  __device__ const View& target() const { return tile; }
  __device__ Row row(const Site&) const { return {}; }
  __device__ Loaded load(const Row&, int32_t) const { return {}; }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded&, float (&values)[V]) const {
#pragma unroll
    for (float& value : values) value = 0;
  }
};

}  // namespace

void start(const ClearOutside& call, StreamHandle stream) {
  const Box& all = call.tile.region;
  const Span rows = inside(all, call.picture).y, columns = inside(all, call.picture).x;
  const Box above{all.t, {all.y.begin, std::min(rows.begin, all.y.end)}, all.x};
  const Box below{all.t, {std::max(rows.end, above.y.end), all.y.end}, all.x};
  const Span beside{above.y.end, below.y.begin};
  const Box left{all.t, beside, {all.x.begin, std::min(columns.begin, all.x.end)}};
  const Box right{all.t, beside, {std::max(columns.end, left.x.end), all.x.end}};
  with_access(call.tile, true, [&]<class Access>(Access) {
    for (const Box& side : {above, below, left, right})
      launch_make<Access>("clear outside", Zeros{call.tile}, side, stream);
  });
}

}  // namespace headroom::gpu
