#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace headroom {

/// Work on chunks that are packed by parts and then added block by block, shared out to all threads in one
/// go. A thread takes the next piece of work in this order. It waits only if the piece needs another thread's
/// unfinished piece:
///
///     parts of chunk 0 | blocks of chunk 0 | parts of chunk 1 | blocks of chunk 1 | parts of chunk 2 | …
///
/// - a part of chunk c lies where chunk c - 2 lay, so all blocks of that must be added;
/// - a block of chunk c reads all parts of the chunk, and adds to what the same block of chunk c - 1 left.
///
/// Every piece comes after the pieces that it needs. Other threads already work on these, so there is no
/// deadlock. There is no barrier at the end of a chunk, because one descheduled thread would delay all
/// others. Each block is added chunk by chunk, so results do not depend on threads.
class ChunkPipeline {
 public:
  using Work = std::function<void(int64_t chunk, int64_t number)>;

  /// All at least 1.
  ChunkPipeline(int64_t chunks, int64_t parts, int64_t blocks);

  /// Calls `pack` for each part and `add` for each block of each chunk, once in the life of the pipeline.
  /// After an exception no thread begins a new piece. The first exception is rethrown when all threads have
  /// stopped.
  void run(const Work& pack, const Work& add);

 private:
  struct Piece {
    int64_t chunk = 0;
    bool is_part = false;
    int64_t number = 0;
  };
  Piece piece(int64_t place) const;
  bool ready(const Piece& piece) const;
  void note_done(const Piece& piece);
  void wake_others();
  void run_pieces(const Work& pack, const Work& add);

  const int64_t chunks_, parts_, blocks_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<int> changes_ = 0;              ///< counts pieces that are done; a failure counts as well
  std::vector<std::atomic<int64_t>> packed_;  ///< by chunk: number of packed parts
  std::vector<std::atomic<int64_t>> added_;   ///< by chunk: number of added blocks
  std::vector<std::atomic<int64_t>> up_to_;   ///< by block: number of added chunks
};

}  // namespace headroom
