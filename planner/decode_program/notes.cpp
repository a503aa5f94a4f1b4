#include "planner/decode_program/notes.h"

#include <variant>

#include "decoder/base/text.h"

namespace headroom {

void Notes::add(const std::string& line) {
  if (!line.empty()) lines_.push_back(line);
}

void Notes::say() {
  if (lines_.empty()) return;
  progress_.wipe();
  for (const std::string& note : lines_) {
    const std::string line = one_line(note);
    err_ << "headroom-decode: " << line << std::endl;
  }
  lines_.clear();
}

void Notes::tell(const ProgressNews& news) {
  if (std::holds_alternative<PassStarted>(news)) say();
  progress_.tell(news);
}

}  // namespace headroom
