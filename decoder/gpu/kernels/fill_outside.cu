#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

struct Zeros {
  View tile;

  struct Loaded {};
  struct Row {};

  __host__ __device__ const View& target() const { return tile; }
  __device__ Row row(const Site&) const { return {}; }
  __device__ Loaded load(const Row&, int32_t) const { return {}; }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded&, float (&values)[V]) const {
#pragma unroll
    for (float& value : values) value = 0;
  }
};

/// Copies positions inside the picture. The kernel writes only outside, so thread blocks need no
/// synchronisation.
template <class Access>
struct Copies {
  View tile;
  Size picture;
  bool reflects = false;

  using Loaded = typename Access::Raw;
  struct Row {
    const std::byte* from;  ///< column 0 of the picture, or the tile's first column if that lies to the right
  };

  __device__ int32_t copied(int32_t at, int32_t extent) const {
    if (!reflects) return min(max(at, 0), extent - 1);
    if (extent == 1) return 0;
    const int32_t period = 2 * (extent - 1), distance = (at < 0 ? -at : at) % period;
    return min(distance, period - distance);
  }
  __device__ int32_t first_column() const { return max(tile.region.x.begin, 0); }

  __host__ __device__ const View& target() const { return tile; }
  __device__ Row row(const Site& site) const {
    return {value_of<Access>(tile, site.t, copied(site.y, picture.y), first_column(), site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int64_t pixel = copied(x, picture.x) - first_column();
    return Access::load(tile.dtype, row.from + pixel * pixel_bytes<Access>(tile));
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    Access::widen(tile.dtype, loaded, values);
  }
};

}  // namespace

void start(const FillOutside& call, StreamHandle stream) {
  const Box& all = call.tile.region;
  const Span rows = inside(all, call.picture).y, columns = inside(all, call.picture).x;
  const Box above{all.t, {all.y.begin, std::min(rows.begin, all.y.end)}, all.x};
  const Box below{all.t, {std::max(rows.end, above.y.end), all.y.end}, all.x};
  const Span beside{above.y.end, below.y.begin};
  const Box left{all.t, beside, {all.x.begin, std::min(columns.begin, all.x.end)}};
  const Box right{all.t, beside, {std::max(columns.end, left.x.end), all.x.end}};
  with_access(call.tile, true, [&]<class Access>(Access) {
    for (const Box& side : {above, below, left, right}) {
      if (call.edges == Edges::zeros)
        launch_make<Access>("clear outside", Zeros{call.tile}, side, stream);
      else
        launch_make<Access>("fill outside",
                            Copies<Access>{call.tile, call.picture, call.edges == Edges::reflect}, side,
                            stream);
    }
  });
}

}  // namespace headroom::gpu
