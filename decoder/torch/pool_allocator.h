#pragma once

#include "decoder/cpu/pool.h"

namespace headroom {

/// While it lives, every CPU tensor that LibTorch makes on any thread comes from `pool`. Scopes nest; the
/// innermost serves. The pool must outlive all that was allocated from it.
class PoolScope {
 public:
  explicit PoolScope(Pool& pool);
  ~PoolScope();
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  Pool* previous_;
};

}  // namespace headroom
