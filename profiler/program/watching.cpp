#include "profiler/program/watching.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/text_streams.h"

namespace headroom::profiler {

Watching parse_watching(const std::string& text, const std::string& option) {
  if (text == "all") return {};
  if (text.empty()) throw InputError(option + ": expected all, none or a list, found ''");
  Watching watching{.allocator = false, .driver = {}};
  if (text == "none") return watching;
  TextReader words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "allocator") {
      watching.allocator = true;
      continue;
    }
    std::string known = "allocator";
    bool found = false;
    for (size_t i = 0; i < kWatchKinds; ++i) {
      const auto kind = static_cast<WatchKind>(i);
      known += std::string(", ") + name_of(kind);
      if (word != name_of(kind)) continue;
      found = true;
      if (std::find(watching.driver.begin(), watching.driver.end(), kind) == watching.driver.end())
        watching.driver.push_back(kind);
    }
    if (!found)
      throw InputError(option + ": expected all, none or some of " + known + ", found '" + word + "'");
  }
  return watching;
}

std::vector<std::string> warnings_of(const std::vector<TraceSource>& sources) {
  std::vector<std::string> lines;
  for (const TraceSource& source : sources) {
    if (!source.captured) lines.push_back(source.name + ": not captured: " + source.detail);
  }
  return lines;
}

}  // namespace headroom::profiler
