#include "decoder/trace/ranked_trace_file.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>

#include "decoder/outputs/whole_file.h"
#include "decoder/plan/file_limits.h"

namespace headroom {
namespace {

using nlohmann::json;

/// The elements of the list "ranks" of a document, as texts: a trace is not parsed like all else. And the
/// document with an empty list in their place.
struct SplitDocument {
  std::string rest;
  std::vector<std::string_view> elements;
};

/// Goes through a text that may be anything: what is wrong with it is found by whoever parses the parts.
class RanksSplitter {
 public:
  explicit RanksSplitter(std::string_view text) : text_(text) {}

  /// Nothing where the document has no such list.
  std::optional<SplitDocument> run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        const std::string_view word = take_string();
        if (depth_ == 1 && word == "\"ranks\"" && goes_to_list()) return take_list();
        continue;
      }
      follow(c);
      ++at_;
    }
    return std::nullopt;
  }

 private:
  void follow(char c) {
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
  }
  /// With its quotation marks.
  std::string_view take_string() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(text_.size(), at_ + 1);
    return text_.substr(begin, at_ - begin);
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \n\t\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool takes(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool goes_to_list() { return takes(':') && takes('['); }

  SplitDocument take_list() {
    SplitDocument split;
    split.rest = text_.substr(0, at_);
    skip_space();
    if (at_ < text_.size() && text_[at_] == ']') return with_end(std::move(split));
    depth_ = 0;
    size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      while (at_ < text_.size() && text_[at_] == '"') take_string();
      if (at_ == text_.size()) break;
      const char c = text_[at_];
      const bool ends = depth_ == 0 && (c == ',' || c == ']');
      if (ends) {
        split.elements.push_back(text_.substr(begin, at_ - begin));
        begin = at_ + 1;
        if (c == ']' || split.elements.size() > kMostRanks) break;
      }
      follow(c);
    }
    return with_end(std::move(split));
  }
  SplitDocument with_end(SplitDocument split) const {
    split.rest += text_.substr(std::min(at_, text_.size()));
    return split;
  }

  const std::string_view text_;
  size_t at_ = 0;
  int64_t depth_ = 0;
};

RecordedTrace rank_of(const SplitDocument& split, size_t number, const std::string& origin) {
  const std::string place = origin + ": ranks[" + std::to_string(number) + "]";
  RecordedTrace recorded = trace_from_json(std::string(split.elements[number]), place);
  const std::optional<TraceRank>& rank = recorded.trace.rank;
  const std::string expected =
      "rank " + std::to_string(number) + " of " + std::to_string(split.elements.size());
  if (!rank) throw InputError(place + ": rank: expected " + expected + ", found none");
  if (rank->rank != static_cast<int64_t>(number) ||
      rank->ranks != static_cast<int64_t>(split.elements.size())) {
    throw InputError(place + ": rank: expected " + expected + ", found rank " + std::to_string(rank->rank) +
                     " of " + std::to_string(rank->ranks));
  }
  return recorded;
}

}  // namespace

void write_ranked_trace(const std::filesystem::path& file, const std::vector<std::string>& texts) {
  write_file_whole(file, [&](std::ostream& out) {
    out << "{\"schema\":\"headroom.trace\",\"version\":" << kRankedTraceVersion << ",\"ranks\":[\n";
    for (size_t rank = 0; rank < texts.size(); ++rank) out << (rank > 0 ? ",\n" : "") << texts[rank];
    out << "]}\n";
  });
}

std::variant<RecordedTrace, RankedTrace> any_trace_from_json(const std::string& text,
                                                             const std::string& origin) {
  const std::optional<SplitDocument> split = RanksSplitter(text).run();
  if (!split) return trace_from_json(text, origin);
  const json document = parse_json(split->rest, origin);
  const JsonFields file(document, origin);
  check_schema(file, "headroom.trace", kRankedTraceVersion);
  if (split->elements.empty() || split->elements.size() > kMostRanks)
    file["ranks"].fail("expected 1 to " + std::to_string(kMostRanks) + " ranks, found " +
                       std::to_string(split->elements.size()));
  RankedTrace ranked;
  for (size_t rank = 0; rank < split->elements.size(); ++rank)
    ranked.ranks.push_back(rank_of(*split, rank, origin));
  return ranked;
}

std::variant<RecordedTrace, RankedTrace> read_any_trace(const std::filesystem::path& file) {
  return any_trace_from_json(read_text_file(file, kMostTraceFileBytes), file.string());
}

}  // namespace headroom
