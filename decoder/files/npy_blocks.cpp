#include "decoder/files/npy_blocks.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/text.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/stored_dtype.h"

namespace headroom {
namespace {

constexpr int64_t kPieceElements = 64 * 1024;

}  // namespace

std::optional<std::vector<int64_t>> NpyBlocks::next_shape() {
  ++block_;
  std::string start(kNpyPrefixBytes, '\0');
  const int64_t found = read_in_order(descriptor_, origin_, start.data(), kNpyPrefixBytes);
  if (found == 0) return std::nullopt;
  start.resize(static_cast<size_t>(found));
  const int64_t bytes = npy_header_bytes(start, place());
  start.resize(static_cast<size_t>(bytes));
  const int64_t more = read_in_order(descriptor_, origin_, start.data() + found, bytes - found);
  start.resize(static_cast<size_t>(found + more));
  header_ = parse_npy_header(start, place());
  if (header_.shape.size() != 5)
    throw InputError(place() + ": shape: expected N×C×T×H×W, found " + printable(header_.shape));
  require_latent_shape(header_.shape, place());
  return header_.shape;
}

Array NpyBlocks::read() {
  const int64_t elements = require_latent_shape(header_.shape, place());
  const int64_t element_bytes = stored_element_bytes(header_.dtype);
  Array latent{header_.shape, {}};
  std::vector<std::byte> piece(static_cast<size_t>(kPieceElements * element_bytes));
  // The array grows with what arrives: a header may claim more than follows.
  for (int64_t done = 0; done < elements;) {
    const int64_t count = std::min(kPieceElements, elements - done), bytes = count * element_bytes;
    if (const int64_t found = read_in_order(descriptor_, origin_, piece.data(), bytes); found < bytes) {
      throw InputError(place() + ": expected " + std::to_string(elements * element_bytes) +
                       " bytes after the header, found " + std::to_string(done * element_bytes + found));
    }
    latent.values.resize(static_cast<size_t>(done + count));
    convert_to_float(header_.dtype, piece.data(), count, latent.values.data() + done);
    done += count;
  }
  require_finite(latent, place());
  return latent;
}

}  // namespace headroom
