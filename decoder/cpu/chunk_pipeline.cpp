#include "decoder/cpu/chunk_pipeline.h"

#include "decoder/cpu/threads.h"

namespace headroom {

ChunkPipeline::ChunkPipeline(int64_t chunks, int64_t parts, int64_t blocks)
    : chunks_(chunks),
      parts_(parts),
      blocks_(blocks),
      packed_(static_cast<size_t>(chunks)),
      added_(static_cast<size_t>(chunks)),
      up_to_(static_cast<size_t>(blocks)) {}

ChunkPipeline::Piece ChunkPipeline::piece(int64_t place) const {
  const int64_t chunk = place / (parts_ + blocks_), within = place % (parts_ + blocks_);
  return within < parts_ ? Piece{chunk, true, within} : Piece{chunk, false, within - parts_};
}

bool ChunkPipeline::ready(const Piece& piece) const {
  const auto chunk = static_cast<size_t>(piece.chunk);
  if (piece.is_part) return piece.chunk < 2 || added_[chunk - 2] == blocks_;
  return packed_[chunk] == parts_ && up_to_[static_cast<size_t>(piece.number)] == piece.chunk;
}

void ChunkPipeline::note_done(const Piece& piece) {
  const auto chunk = static_cast<size_t>(piece.chunk);
  if (piece.is_part) {
    ++packed_[chunk];
  } else {
    ++up_to_[static_cast<size_t>(piece.number)];
    ++added_[chunk];
  }
  wake_others();
}

void ChunkPipeline::wake_others() {
  ++changes_;
  changes_.notify_all();
}

void ChunkPipeline::run_pieces(const Work& pack, const Work& add) {
  const int64_t places = chunks_ * (parts_ + blocks_);
  try {
    for (int64_t place = next_++; place < places; place = next_++) {
      const Piece now = piece(place);
      for (int seen = changes_; !ready(now); seen = changes_) {
        if (failed_) return;
        wait_while(changes_, seen);
      }
      (now.is_part ? pack : add)(now.chunk, now.number);
      note_done(now);
    }
  } catch (...) {
    failed_ = true;
    wake_others();
    throw;
  }
}

void ChunkPipeline::run(const Work& pack, const Work& add) {
  parallel_for(0, thread_count(), 1, [&](int64_t, int64_t) { run_pieces(pack, add); });
}

}  // namespace headroom
