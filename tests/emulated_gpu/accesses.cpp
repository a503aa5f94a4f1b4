#include "tests/emulated_gpu/accesses.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace headroom::gpu {
namespace {

int64_t length(const Span& span) {
  return std::max(0, span.end - span.begin);
}

Span cut(const Span& a, int32_t begin, int32_t end) {
  return {std::max(a.begin, begin), std::min(a.end, end)};
}

Box inside(const Box& box, const Size& picture) {
  return {cut(box.t, 0, picture.t), cut(box.y, 0, picture.y), cut(box.x, 0, picture.x)};
}

bool contains(const Span& outer, const Span& inner) {
  return length(inner) == 0 || (outer.begin <= inner.begin && inner.end <= outer.end);
}

class Accesses {
 public:
  std::vector<Access> list;

  void memory(const void* begin, int64_t bytes, bool writes) {
    if (bytes > 0) list.push_back({static_cast<const std::byte*>(begin), bytes, writes});
  }
  void rows(const View& view, const Box& box, bool writes) {
    if (length(box.t) * length(box.y) * length(box.x) == 0) return;
    if (!contains(view.region.t, box.t) || !contains(view.region.y, box.y) || !contains(view.region.x, box.x))
      throw std::logic_error("a call reaches beyond a view");
    const int64_t pixel = view.channels * bytes_per_element(view.dtype);
    const int64_t row = length(view.region.x) * pixel, left = (box.x.begin - view.region.x.begin) * pixel;
    for (int32_t t = box.t.begin; t < box.t.end; ++t) {
      for (int32_t y = box.y.begin; y < box.y.end; ++y) {
        const int32_t down = y - view.region.y.begin, block = down / view.block_rows;
        if (block >= view.blocks) throw std::logic_error("a view has too few blocks");
        if (view.block_units[block] == kAbsent)
          throw std::logic_error("a call touches a block that is not there");
        const int64_t line = int64_t{t - view.region.t.begin} * view.block_rows + down % view.block_rows;
        memory(view.base + view.block_units[block] * kBlockUnit + line * row + left, length(box.x) * pixel,
               writes);
      }
    }
  }
  void reads(const View& view, const Box& box) { rows(view, box, false); }
  void writes(const View& view, const Box& box) { rows(view, box, true); }

  void operator()(const Gather& c) {
    reads(c.source, inside(c.target.region, c.picture));
    writes(c.target, c.target.region);
  }
  void operator()(const Copy& c) {
    reads(c.source, c.region);
    writes(c.target, c.region);
  }
  void operator()(const Add& c) {
    reads(c.source, c.region);
    writes(c.target, c.region);
  }
  void operator()(const Normalise& c) {
    reads(c.source, inside(c.target.region, c.picture));
    writes(c.target, c.target.region);
    const int64_t sets = c.by_frame ? c.picture.t : 1,
                  bytes = sets * c.source.channels * int64_t{sizeof(float)};
    memory(c.scale, bytes, false);
    memory(c.shift, bytes, false);
  }
  void operator()(const RmsNorm& c) {
    reads(c.source, c.region);
    writes(c.target, c.region);
    memory(c.weight, c.source.channels * int64_t{sizeof(float)}, false);
    memory(c.bias, c.source.channels * int64_t{sizeof(float)}, false);
  }
  void operator()(const Upsample& c) {
    Box from = inside(c.target.region, c.picture);
    if (length(from.y) > 0) from.y = {from.y.begin / c.factor_y, (from.y.end - 1) / c.factor_y + 1};
    if (length(from.x) > 0) from.x = {from.x.begin / c.factor_x, (from.x.end - 1) / c.factor_x + 1};
    reads(c.source, from);
    writes(c.target, c.target.region);
  }
  void operator()(const DepthToSpace& c) {
    const auto frame_of = [&](int32_t t) { return t == 0 ? 0 : (t - 1) / c.factor_t + 1; };
    reads(c.source, {{frame_of(c.region.t.begin), frame_of(c.region.t.end - 1) + 1},
                     {c.region.y.begin / c.factor_y, (c.region.y.end - 1) / c.factor_y + 1},
                     {c.region.x.begin / c.factor_x, (c.region.x.end - 1) / c.factor_x + 1}});
    writes(c.target, c.region);
  }
  void operator()(const SpaceToDepth& c) {
    const auto frame_of = [&](int32_t t) { return t == 0 ? 0 : (t - 1) * c.stride_t + 1; };
    reads(c.source, {{frame_of(c.region.t.begin), frame_of(c.region.t.end)},
                     {c.region.y.begin * c.stride_y, c.region.y.end * c.stride_y},
                     {c.region.x.begin * c.stride_x, c.region.x.end * c.stride_x}});
    writes(c.target, c.region);
  }
  void operator()(const Gate& c) {
    reads(c.source, c.region);
    writes(c.target, c.region);
  }
  void operator()(const Modulate& c) {
    reads(c.source, c.region);
    reads(c.factors, c.region);
    writes(c.target, c.region);
  }
  void operator()(const Interpolate& c) {
    const auto from = [](const Span& span, int32_t factor, int32_t extent) {
      if (factor == 1) return span;
      return cut({span.begin / factor - 1, (span.end - 1) / factor + 2}, 0, extent);
    };
    reads(c.source,
          {c.factor_t == 1 ? c.region.t : Span{0, c.source_extent.t},
           from(c.region.y, c.factor_y, c.source_extent.y), from(c.region.x, c.factor_x, c.source_extent.x)});
    writes(c.target, c.region);
  }
  void operator()(const UnfoldFrames& c) {
    if (c.region.t.begin == 0) reads(c.first, {{0, 1}, c.region.y, c.region.x});
    reads(c.rest, {cut({(c.region.t.begin + 1) / 2, c.region.t.end / 2 + 1},
                       std::max(1, c.rest.region.t.begin), c.rest.region.t.end),
                   c.region.y, c.region.x});
    writes(c.target, c.region);
  }
  void operator()(const Activate& c) { writes(c.tile, c.region); }
  void operator()(const FillOutside& c) { writes(c.tile, c.tile.region); }
  void operator()(const AddMoments& c) {
    reads(c.source, c.region);
    memory(c.partial, partial_moments(c.region, c.source.channels, c.groups) * int64_t{sizeof(Moments)},
           true);
    memory(c.counters,
           moment_counters(c.region, c.source.channels, c.groups, c.by_frame) * int64_t{sizeof(uint32_t)},
           true);
    const int64_t first = c.by_frame ? c.region.t.begin : 0, sets = c.by_frame ? length(c.region.t) : 1;
    memory(c.state + first * c.groups, sets * c.groups * int64_t{sizeof(Moments)}, true);
  }
  void operator()(const Affine& c) {
    memory(c.state, int64_t{c.sets} * c.groups * int64_t{sizeof(Moments)}, false);
    memory(c.scale, int64_t{c.sets} * c.channels * int64_t{sizeof(float)}, true);
    memory(c.shift, int64_t{c.sets} * c.channels * int64_t{sizeof(float)}, true);
  }
  void operator()(const AddKeyValueSums& c) {
    reads(c.chunk, c.region);
    const int64_t sums = int64_t{c.heads} * c.channels * (c.channels + 1);
    memory(c.partial, key_value_partials(c.region) * sums * int64_t{sizeof(float)}, true);
    memory(c.sums, sums * int64_t{sizeof(double)}, true);
  }
  void operator()(const LinearAttention& c) {
    reads(c.chunk, c.region);
    memory(c.sums, int64_t{c.heads} * c.channels * (c.channels + 1) * int64_t{sizeof(double)}, false);
    writes(c.target, c.region);
  }
  void operator()(const Convolve& c) {
    reads(c.input, c.input.region);
    if (c.adds()) reads(c.residual, c.region);
    writes(c.target, c.region);
    const ConvolutionShape& s = c.shape;
    const int64_t taps = s.upsamples ? 16 : int64_t{s.rows} * s.columns,
                  element = bytes_per_element(c.input.dtype);
    memory(c.kernel, s.outputs * s.frames * taps * (s.inputs / s.groups) * element, false);
    memory(c.bias, s.outputs * element, false);
    memory(c.workspace, c.workspace_bytes, true);
  }
  void operator()(const Interleave& c) {
    const int64_t positions = length(c.coarse.t) * length(c.coarse.y) * length(c.coarse.x);
    memory(c.phases, 4 * positions * c.target.channels * bytes_per_element(c.target.dtype), false);
    writes(c.target, c.region);
  }
  void operator()(const Attend& c) {
    const auto frames = [&](const View& view, const Span& t) {
      return Box{c.interleaved ? view.region.t : t, view.region.y, view.region.x};
    };
    const auto frame = [&](const View& view, int32_t t) { return frames(view, {t, t + 1}); };
    reads(c.queries, frame(c.queries, c.query_frame));
    reads(c.keys, frames(c.keys, c.key_frames));
    reads(c.values, frames(c.values, c.key_frames));
    writes(c.target, frame(c.target, c.target_frame));
    memory(c.workspace, c.workspace_bytes, true);
    if (c.first && c.last) return;
    const int64_t queries = int64_t{length(c.queries.region.y)} * length(c.queries.region.x);
    memory(c.state.sums, queries * c.values.channels * 4, true);
    memory(c.state.largest, queries * 4, true);
    memory(c.state.weights, queries * 4, true);
  }
  void operator()(const Emit& c) {
    reads(c.source, c.region);
    const int64_t values = length(c.region.t) * length(c.region.y) * length(c.region.x) * c.source.channels;
    memory(c.pixels, values * bytes_per_value(c.format), true);
    memory(c.not_finite, int64_t{sizeof(*c.not_finite)}, true);
  }
  /// The rows of a box; a row's values need not be adjacent.
  void planes(const Planes& all, int32_t channels, const Box& box, bool writes) {
    const int64_t element = bytes_per_element(all.dtype),
                  row = ((length(box.x) - 1) * all.column + 1) * element;
    for (int32_t c = 0; c < channels; ++c) {
      for (int32_t t = box.t.begin; t < box.t.end; ++t) {
        for (int32_t y = box.y.begin; y < box.y.end; ++y) {
          const int64_t at = c * all.channel + t * all.frame + y * all.row + box.x.begin * all.column;
          memory(all.first + at * element, row, writes);
        }
      }
    }
  }
  void operator()(const EmitPlanes& c) {
    reads(c.source, c.region);
    planes(c.target, c.source.channels, c.region, true);
    memory(c.not_finite, int64_t{sizeof(*c.not_finite)}, true);
  }
  void operator()(const LoadPlanes& c) {
    planes(c.source, c.target.channels, c.target.region, false);
    writes(c.target, c.target.region);
    memory(c.not_finite, int64_t{sizeof(*c.not_finite)}, true);
  }
  void operator()(const Pack& c) {
    for (int32_t i = 0; i < c.lists; ++i) {
      const Pack::List& one = c.list[i];
      memory(one.to, one.values() * bytes_per_element(one.to_dtype), true);
      if (one.from == nullptr) continue;
      const int64_t read_outputs = one.by != nullptr ? one.summed : one.outputs;
      if (one.by != nullptr) {
        const int64_t by = (one.outputs - 1) * one.by_output + (one.summed - 1) * one.by_summed;
        memory(one.by, (by + 1) * bytes_per_element(one.by_dtype), false);
        if (one.addend != nullptr)
          memory(one.addend,
                 ((one.outputs - 1) * one.addend_output + 1) * bytes_per_element(one.addend_dtype), false);
      }
      const int64_t last = (read_outputs - 1) * one.output + (one.frames - 1) * one.frame +
                           (one.rows - 1) * one.row + (one.columns - 1) * one.column +
                           (one.inputs - 1) * one.input;
      memory(one.from, (last + 1) * bytes_per_element(one.from_dtype), false);
    }
    memory(c.not_finite, int64_t{sizeof(*c.not_finite)}, true);
  }
  void operator()(const CheckFinite& c) {
    memory(c.values, c.count * int64_t{sizeof(*c.values)}, false);
    memory(c.not_finite, int64_t{sizeof(*c.not_finite)}, true);
  }
  void operator()(const Checksum& c) {
    for (int32_t i = 0; i < c.stretches; ++i) memory(c.at[i], c.bytes[i], false);
    memory(c.sums, c.first_block[c.stretches] * int64_t{sizeof(*c.sums)}, true);
  }
};

}  // namespace

std::vector<Access> accesses_of(const Call& call) {
  Accesses accesses;
  std::visit(accesses, call);
  return std::move(accesses.list);
}

}  // namespace headroom::gpu
