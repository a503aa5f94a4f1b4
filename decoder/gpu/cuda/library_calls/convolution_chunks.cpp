#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"

#include <algorithm>
#include <array>
#include <optional>

namespace headroom::gpu {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;
/// Smaller chunks cost more than they save.
constexpr int32_t kFewestRows = 8;
/// Fewer rows than that are worth a chunk if they have more positions than this.
constexpr int64_t kFewestPositions = 8192;
/// Alignment of a library's workspace, in bytes.
constexpr int64_t kAlignment = 256;

int32_t length(const Span& span) {
  return span.end - span.begin;
}
bool holds(const Span& outer, const Span& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}
bool empty(const Box& box) {
  return length(box.t) <= 0 || length(box.y) <= 0 || length(box.x) <= 0;
}
int64_t round_up(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

int64_t row_elements(const View& view) {
  return int64_t{length(view.region.x)} * view.channels;
}
int64_t frame_elements(const View& view) {
  return view.block_rows * row_elements(view);
}

/// True if the rows of a block follow those of the block before without a gap. With several frames they never
/// do: a block has all frames of its rows.
bool follows_on(const View& view, int32_t block) {
  const int64_t bytes = view.block_rows * row_elements(view) * bytes_per_element(view.dtype);
  const uint32_t before = view.block_units[block - 1], here = view.block_units[block];
  return length(view.region.t) == 1 && before != kAbsent && here != kAbsent &&
         (int64_t{here} - int64_t{before}) * kBlockUnit == bytes;
}

/// End of the contiguous run of rows that begins at `y`; it may span several blocks.
int32_t end_of_rows(const View& view, int32_t y) {
  int32_t block = (y - view.region.y.begin) / view.block_rows + 1;
  while (block < view.blocks && follows_on(view, block)) ++block;
  return std::min(view.region.y.end, view.region.y.begin + block * view.block_rows);
}

/// Address of a box's first position; null if the box is not present or its rows are not contiguous.
std::byte* address_of(const View& view, const Box& box) {
  const Box& region = view.region;
  if (!holds(region.t, box.t) || !holds(region.y, box.y) || !holds(region.x, box.x)) return nullptr;
  const int32_t first = box.y.begin - region.y.begin, block = first / view.block_rows;
  if (view.block_units[block] == kAbsent || box.y.end > end_of_rows(view, box.y.begin)) return nullptr;
  const int64_t elements = (box.t.begin - region.t.begin) * frame_elements(view) +
                           (first % view.block_rows) * row_elements(view) +
                           int64_t{box.x.begin - region.x.begin} * view.channels;
  return view.base + view.block_units[block] * kBlockUnit + elements * bytes_per_element(view.dtype);
}

/// cuDNN rejects less aligned addresses when a plan runs, even if its descriptors declare a smaller alignment
/// (CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, cuDNN 9.19 on an H100).
bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kCudnnAlignment == 0;
}

bool are_aligned(const ConvolutionChunk& chunk) {
  return is_aligned(chunk.input) && is_aligned(chunk.kernel) && is_aligned(chunk.bias) &&
         is_aligned(chunk.output) && is_aligned(chunk.residual);
}

bool below_most_elements(const ConvolutionProblem& problem) {
  const int64_t input = (problem.input_frames() - 1) * problem.input_frame +
                        (problem.input_rows() - 1) * problem.input_row +
                        problem.input_columns() * problem.inputs;
  const int64_t output = (problem.frames - 1) * problem.output_frame +
                         (problem.rows - 1) * problem.output_row + problem.columns * problem.outputs;
  return std::max(input, output) < kMostElements;
}

bool has_one_tap(const ConvolutionShape& shape) {
  return shape.frames == 1 && shape.rows == 1 && shape.columns == 1;
}

bool rows_lie_alike(const View& one, const View& other) {
  return row_elements(one) == row_elements(other);
}

/// With one tap and an in-place residual, cuDNN rounds the sum to 16 bits before it adds the residual (engine
/// 39, cuDNN 9.19 on an H100). Other kernels round once.
bool would_round_twice(const Convolve& call) {
  return has_one_tap(call.shape) && call.target.dtype != Dtype::fp32 &&
         (call.residual.base == call.target.base || !rows_lie_alike(call.residual, call.target));
}

int32_t frames_before(const ConvolutionShape& shape) {
  return shape.frames - 1 - shape.frames_ahead;
}

/// The first input frame that a kernel reads as it is.
int32_t first_read_frame(const ConvolutionShape& shape) {
  return shape.before_first == BeforeFirst::zeros_instead_of_first_frame ? 1 : 0;
}

/// Frames whose taps all read frames inside the input. The others need padding along time.
Span regular_frames(const ConvolutionShape& shape, const Span& frames, int32_t input_end) {
  const int32_t first = frames_before(shape) + first_read_frame(shape);
  const int32_t begin = std::min(std::max(first, frames.begin), frames.end);
  return {begin, std::max(begin, std::min(frames.end, input_end - shape.frames_ahead))};
}

/// Kernels as a view: one row for each output, over all phases, and one column for each kernel frame.
View kernel_view(const ConvolutionShape& shape, Dtype dtype, const void* kernel, const Span& frames) {
  View view;
  view.base = static_cast<std::byte*>(const_cast<void*>(kernel));  // a view has no constant base
  view.region = {{0, 1}, {0, shape.outputs * (shape.upsamples ? 4 : 1)}, frames};
  view.channels = shape.inputs * (shape.upsamples ? 4 : shape.rows * shape.columns);
  view.block_rows = view.region.y.end;
  view.dtype = dtype;
  return view;
}

/// The convolution of frame `t`, whose first or last taps read zeros, by a kernel without these taps. `copy`
/// puts this kernel in the workspace. Empty if no tap is left, the workspace is too small, or the frame needs
/// other padding.
struct Shortened {
  Convolve call;
  Copy copy;
};
std::optional<Shortened> without_zero_taps(const Convolve& call, int32_t t) {
  const ConvolutionShape& shape = call.shape;
  const int32_t first = std::max(0, frames_before(shape) + first_read_frame(shape) - t);
  const int32_t missing = std::max(0, t + shape.frames_ahead + 1 - call.input.region.t.end);
  const Span kept{first, shape.frames - missing};
  if (shape.before_first == BeforeFirst::first_frame || length(kept) < 1) return std::nullopt;
  Shortened result{call, {}};
  Convolve& part = result.call;
  part.region.t = {t, t + 1};
  part.shape.frames = length(kept);
  part.shape.frames_ahead -= missing;
  part.shape.before_first = BeforeFirst::zeros;
  part.kernel = call.workspace;
  result.copy = {kernel_view(shape, call.input.dtype, call.kernel, {0, shape.frames}),
                 kernel_view(part.shape, call.input.dtype, part.kernel, kept),
                 {}};
  result.copy.region = result.copy.target.region;
  const int64_t bytes = round_up(frame_elements(result.copy.target) * bytes_per_element(call.input.dtype));
  if (call.workspace_bytes < bytes) return std::nullopt;
  part.workspace = static_cast<std::byte*>(call.workspace) + bytes;
  part.workspace_bytes -= bytes;
  return result;
}

class Chunks {
 public:
  Chunks(const Convolve& call, ConvolutionEngine& engine) : call_(call), engine_(engine) {}

  std::vector<Box> run() {
    if (empty(call_.region)) return {};
    if (call_.shape.groups != 1 || call_.shape.strided() || call_.input.dtype != call_.target.dtype ||
        (call_.adds() &&
         (call_.shape.upsamples || call_.residual.dtype != call_.target.dtype || would_round_twice(call_))))
      return {call_.region};
    const Span regular = regular_frames(call_.shape, call_.region.t, call_.input.region.t.end);
    for (int32_t t = call_.region.t.begin; t < regular.begin; ++t) irregular_frame(t);
    for (int32_t t = regular.end; t < call_.region.t.end; ++t) irregular_frame(t);
    if (call_.shape.upsamples) {
      upsampled_frames(regular);
    } else if (call_.shape.frames == 1 && !frames_are_a_batch()) {
      for (int32_t t = regular.begin; t < regular.end; ++t)
        blocks({{t, t + 1}, call_.region.y, call_.region.x});
    } else {
      blocks({regular, call_.region.y, call_.region.x});
    }
    return std::move(left_);
  }

 private:
  void leave(const Box& box) {
    if (!empty(box)) left_.push_back(box);
  }

  void irregular_frame(int32_t t) {
    const std::optional<Shortened> shortened = without_zero_taps(call_, t);
    if (!shortened) return leave({{t, t + 1}, call_.region.y, call_.region.x});
    engine_.run(shortened->copy);
    for (const Box& left : Chunks(shortened->call, engine_).run()) leave(left);
  }

  Box window_of(const Box& outputs) const {
    const ConvolutionShape& shape = call_.shape;
    return {{outputs.t.begin - frames_before(shape), outputs.t.end + shape.frames_ahead},
            {outputs.y.begin - shape.rows / 2, outputs.y.end + shape.rows / 2},
            {outputs.x.begin - shape.columns / 2, outputs.x.end + shape.columns / 2}};
  }

  bool fills_frames(const View& view) const {
    return length(call_.region.y) == view.block_rows && length(call_.region.x) == length(view.region.x);
  }

  /// True if frames follow one another without a gap in every view. Libraries copy data that has gaps.
  bool frames_are_a_batch() const {
    const Box window = window_of(call_.region);
    return length(window.y) == call_.input.block_rows && length(window.x) == length(call_.input.region.x) &&
           fills_frames(call_.target) && (!call_.adds() || fills_frames(call_.residual));
  }

  /// The part of a chunk that plain and upsampling convolutions share.
  ConvolutionChunk chunk(const std::byte* input, const void* kernel, std::byte* output) const {
    ConvolutionChunk result;
    result.problem.dtype = call_.input.dtype;
    result.problem.tf32 = call_.tf32 && call_.input.dtype == Dtype::fp32;
    result.problem.inputs = call_.shape.inputs;
    result.problem.outputs = call_.shape.outputs;
    result.problem.taps_t = call_.shape.frames;
    result.problem.input_row = row_elements(call_.input);
    result.problem.input_frame = frame_elements(call_.input);
    result.input = input;
    result.kernel = static_cast<const std::byte*>(kernel);
    result.bias = call_.bias;
    result.output = output;
    return result;
  }

  std::optional<ConvolutionChunk> chunk_of(const Box& outputs) const {
    const std::byte* input = address_of(call_.input, window_of(outputs));
    std::byte* output = address_of(call_.target, outputs);
    if (input == nullptr || output == nullptr) return std::nullopt;
    ConvolutionChunk result = chunk(input, call_.kernel, output);
    ConvolutionProblem& problem = result.problem;
    problem.taps_y = call_.shape.rows;
    problem.taps_x = call_.shape.columns;
    problem.frames = length(outputs.t);
    problem.rows = length(outputs.y);
    problem.columns = length(outputs.x);
    problem.output_row = row_elements(call_.target);
    problem.output_frame = frame_elements(call_.target);
    if (call_.adds()) {
      result.residual = address_of(call_.residual, outputs);
      if (result.residual == nullptr) return std::nullopt;
      problem.adds = true;
      problem.residual_row = row_elements(call_.residual);
      // A single frame has no frame stride. This value makes equal problems compare equal.
      problem.residual_frame =
          problem.frames == 1 ? frame_elements(call_.target) : frame_elements(call_.residual);
    }
    result.workspace = static_cast<std::byte*>(call_.workspace);
    result.workspace_bytes = call_.workspace_bytes;
    return result;
  }

  ConvolutionEngine::Fit fit(const std::optional<ConvolutionChunk>& chunk) const {
    if (!chunk || !are_aligned(*chunk) || !below_most_elements(chunk->problem))
      return ConvolutionEngine::Fit::none;
    return engine_.fit(chunk->problem, chunk->workspace_bytes);
  }

  struct Part {
    int32_t frames = 0, rows = 0;
  };
  /// Frames and rows of the largest chunks that are a good fit, or else of the largest that fit; none if
  /// nothing fits. Frames are divided before rows: libraries copy some rows of several frames, because other
  /// rows lie between them.
  template <typename ChunkOf>
  Part at_once(Part part, const ChunkOf& chunk_of) const {
    const int64_t columns = length(call_.region.x);
    Part largest;
    for (;;) {
      const ConvolutionEngine::Fit found = fit(chunk_of(part));
      if (found == ConvolutionEngine::Fit::good) return part;
      if (found == ConvolutionEngine::Fit::poor && largest.frames == 0) largest = part;
      if (part.frames > 1) {
        part.frames = (part.frames + 1) / 2;
      } else if (part.rows > kFewestRows || (part.rows > 1 && part.rows * columns > kFewestPositions)) {
        part.rows = (part.rows + 1) / 2;
      } else {
        return largest;
      }
    }
  }

  /// Convolves runs of rows that are contiguous in the target and in the residual.
  void blocks(const Box& outputs) {
    for (int32_t y = outputs.y.begin; y < outputs.y.end;) {
      int32_t end = std::min(outputs.y.end, end_of_rows(call_.target, y));
      if (call_.adds()) end = std::min(end, end_of_rows(call_.residual, y));
      if (!empty(outputs)) chunks_of({outputs.t, {y, end}, outputs.x});
      y = end;
    }
  }

  void chunks_of(const Box& outputs) {
    const auto box_from = [&](int32_t t, int32_t y, const Part& part) {
      return Box{{t, std::min(t + part.frames, outputs.t.end)},
                 {y, std::min(y + part.rows, outputs.y.end)},
                 outputs.x};
    };
    const Part part = at_once({length(outputs.t), length(outputs.y)}, [&](const Part& tried) {
      return chunk_of(box_from(outputs.t.begin, outputs.y.begin, tried));
    });
    if (part.frames == 0) return leave(outputs);
    for (int32_t t = outputs.t.begin; t < outputs.t.end; t += part.frames) {
      for (int32_t y = outputs.y.begin; y < outputs.y.end; y += part.rows) convolve(box_from(t, y, part));
    }
  }

  void convolve(const Box& outputs) {
    const std::optional<ConvolutionChunk> next = chunk_of(outputs);
    if (fit(next) == ConvolutionEngine::Fit::none) return leave(outputs);
    engine_.convolve(*next);
  }

  // Convolution over 2× upsampling. Along an axis, the even output 2i reads the inputs i - 1 and i. The odd
  // output 2i + 1 reads i and i + 1, like the even output after it. So outputs are taken in pairs that begin
  // with an odd one. Then all four phases read the same window, which has no input that the outputs do not
  // need.

  /// Pairs of outputs along an axis that cover the requested outputs, and the input window that they read.
  struct Pairs {
    int32_t begin = 0;  ///< the first output, odd
    int32_t count = 0;
    Span window() const { return {(begin - 1) / 2, (begin - 1) / 2 + count + 1}; }
  };
  static Pairs pairs_of(const Span& outputs) {
    const int32_t begin = outputs.begin % 2 == 0 ? outputs.begin - 1 : outputs.begin;
    return {begin, (outputs.end - begin + 1) / 2};
  }

  /// The chunk of a phase. Its output goes to the phase's slot of the workspace.
  std::optional<ConvolutionChunk> chunk_of_phase(const Span& frames, const Pairs& rows, const Pairs& columns,
                                                 int odd_row, int odd_column) const {
    const ConvolutionShape& shape = call_.shape;
    const std::byte* input =
        address_of(call_.input, {{frames.begin - frames_before(shape), frames.end + shape.frames_ahead},
                                 rows.window(),
                                 columns.window()});
    const int64_t element = bytes_per_element(call_.input.dtype);
    const int64_t elements_of_frame = int64_t{rows.count} * columns.count * shape.outputs,
                  phase_elements = length(frames) * elements_of_frame;
    const int64_t phases_bytes = round_up(4 * phase_elements * element);
    if (input == nullptr || phases_bytes > call_.workspace_bytes) return std::nullopt;
    // The first of a pair is odd, but Interleave expects an even one there. So the phases are swapped.
    const int slot_of_phase = (1 - odd_row) * 2 + 1 - odd_column, kernel_of_phase = odd_row * 2 + odd_column;
    const int64_t kernel_elements = int64_t{4} * shape.outputs * shape.frames * shape.inputs;
    auto* workspace = static_cast<std::byte*>(call_.workspace);
    ConvolutionChunk result = chunk(
        input, static_cast<const std::byte*>(call_.kernel) + kernel_of_phase * kernel_elements * element,
        workspace + slot_of_phase * phase_elements * element);
    ConvolutionProblem& problem = result.problem;
    problem.taps_y = problem.taps_x = 2;
    problem.frames = length(frames);
    problem.rows = rows.count;
    problem.columns = columns.count;
    problem.output_row = int64_t{columns.count} * shape.outputs;
    problem.output_frame = elements_of_frame;
    result.workspace = workspace + phases_bytes;
    result.workspace_bytes = call_.workspace_bytes - phases_bytes;
    return result;
  }

  /// Several frames at once if they follow one another without a gap.
  void upsampled_frames(const Span& frames) {
    const Pairs rows = pairs_of(call_.region.y), columns = pairs_of(call_.region.x);
    const bool contiguous = length(rows.window()) == call_.input.block_rows &&
                            length(columns.window()) == length(call_.input.region.x);
    for (int32_t t = frames.begin; t < frames.end;) {
      const int32_t left = frames.end - t;
      const Part part = at_once({contiguous ? left : 1, rows.count}, [&](const Part& tried) {
        return chunk_of_phase({t, t + tried.frames}, {rows.begin, tried.rows}, columns, 1, 1);
      });
      if (part.frames == 0) return leave({{t, frames.end}, call_.region.y, call_.region.x});
      for (int32_t done = 0; done < rows.count; done += part.rows)
        upsampled_slice({t, t + part.frames}, {rows.begin + 2 * done, std::min(part.rows, rows.count - done)},
                        columns);
      t += part.frames;
    }
  }

  void upsampled_slice(const Span& frames, const Pairs& rows, const Pairs& columns) {
    const Box outputs{frames,
                      {std::max(rows.begin, call_.region.y.begin),
                       std::min(rows.begin + 2 * rows.count, call_.region.y.end)},
                      call_.region.x};
    std::array<std::optional<ConvolutionChunk>, 4> phases;
    for (size_t i = 0; i < phases.size(); ++i) {
      phases[i] = chunk_of_phase(frames, rows, columns, static_cast<int>(i / 2), static_cast<int>(i % 2));
      if (fit(phases[i]) == ConvolutionEngine::Fit::none) return leave(outputs);
    }
    for (const std::optional<ConvolutionChunk>& phase : phases) engine_.convolve(*phase);
    // Shifted by one, so that odd positions become even ones.
    const auto moved = [](const Span& span) { return Span{span.begin + 1, span.end + 1}; };
    const auto coarse = [](const Pairs& pairs) {
      return Span{(pairs.begin + 1) / 2, (pairs.begin + 1) / 2 + pairs.count};
    };
    Interleave call;
    call.phases = call_.workspace;
    call.coarse = {outputs.t, coarse(rows), coarse(columns)};
    call.target = call_.target;
    call.target.region.y = moved(call_.target.region.y);
    call.target.region.x = moved(call_.target.region.x);
    call.region = {outputs.t, moved(outputs.y), moved(outputs.x)};
    engine_.run(call);
  }

  const Convolve& call_;
  ConvolutionEngine& engine_;
  std::vector<Box> left_;
};

}  // namespace

AskedToAdd as_asked(const Convolve& call) {
  if (!call.adds() || call.shape.strided() || rows_lie_alike(call.residual, call.target) ||
      would_round_twice(call))
    return {call, {}};
  AskedToAdd asked{call, Copy{call.residual, call.target, call.region}};
  asked.call.residual = call.target;
  return asked;
}

std::vector<Box> convolve_in_chunks(const Convolve& call, ConvolutionEngine& engine) {
  return Chunks(call, engine).run();
}

}  // namespace headroom::gpu
