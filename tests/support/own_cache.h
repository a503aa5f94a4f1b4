#pragma once

#include <cstdlib>
#include <filesystem>

#include "tests/decoder/files/scratch.h"

namespace headroom::test {

/// A folder for measured ratios (planner/answer/learnt.h), used by this process as long as the object lives.
/// Other tests have none (tests/run_tests.cpp).
class OwnCache {
 public:
  OwnCache() { setenv("HEADROOM_CACHE", scratch.folder().c_str(), 1); }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() { setenv("HEADROOM_CACHE", "off", 1); }
  std::filesystem::path file() const { return scratch / "learnt.json"; }
  const Scratch scratch;
};

}  // namespace headroom::test
