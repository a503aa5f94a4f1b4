#include "decoder/gpu/placement/buffers.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>

namespace headroom {
namespace {

constexpr int64_t kNothing = std::numeric_limits<int64_t>::max();

/// Sections in which a buffer is live.
struct Span {
  size_t begin = std::numeric_limits<size_t>::max(), end = 0;

  void include(const Span& other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

struct Section {
  int64_t floor = 0;  ///< lower bound on the offsets of unplaced buffers
  int64_t bytes = 0;  ///< of unplaced buffers
  size_t unplaced = 0;
  std::vector<int32_t> buffers;  ///< unplaced ones first
};

struct Item {
  Span span;
  int64_t bytes = 0;
  int64_t lower = 0;  ///< lower bound on the offset
  int32_t rank = 0;   ///< in the order of preference
  bool is_placed = false;
  std::vector<int32_t> indices;  ///< by section of the span, its place in the section's list
};

class BoundedSearch {
 public:
  BoundedSearch(std::span<const Buffer> buffers, const Overlaps& overlaps, int64_t capacity,
                int64_t most_visits)
      : buffers_(buffers),
        overlaps_(overlaps),
        capacity_(capacity),
        most_visits_(most_visits),
        items_(buffers.size()),
        offsets_(buffers.size()) {
    find_sections();
  }

  std::optional<std::vector<int64_t>> run() {
    // Placements until the search restarts. Every eighth round has a larger budget.
    const int64_t nodes = std::max<int64_t>(4000, 2 * std::ssize(items_)), patient_nodes = 8 * nodes;
    for (const Section& section : sections_)
      if (section.bytes > capacity_) return std::nullopt;
    std::vector<int32_t> all(items_.size());
    std::iota(all.begin(), all.end(), 0);
    std::stable_sort(all.begin(), all.end(),
                     [&](int32_t a, int32_t b) { return item(a).span.begin < item(b).span.begin; });
    for (int round = 0; visits_ < most_visits_; ++round) {
      rank(round);
      nodes_left_ = round % 8 == 7 ? patient_nodes : nodes;
      if (place_all(all)) return std::move(offsets_);
      if (nodes_left_ >= 0 && visits_ <= most_visits_) return std::nullopt;  // the round tried everything
      undo({});
    }
    return std::nullopt;
  }

 private:
  /// The last placed buffer. The next one has a higher offset, or an equal offset and a higher rank.
  struct Last {
    int64_t offset = 0;
    int32_t rank = -1;
  };
  struct Mark {
    size_t changes = 0, placed = 0;
  };
  struct Change {
    int64_t* value = nullptr;
    int64_t before = 0;
  };

  Item& item(int32_t number) { return items_[static_cast<size_t>(number)]; }
  static bool may_follow(const Item& own, const Last& last) {
    return own.lower > last.offset || (own.lower == last.offset && own.rank >= last.rank);
  }

  void find_sections() {
    std::vector<std::tuple<int64_t, bool, size_t>> edges;  // event, is a begin, buffer
    for (size_t i = 0; i < buffers_.size(); ++i) {
      edges.emplace_back(buffers_[i].begin, true, i);
      edges.emplace_back(buffers_[i].end, false, i);
    }
    std::sort(edges.begin(), edges.end());
    bool ended = true;
    for (const auto& [at, begins, number] : edges) {
      if (begins && ended) sections_.emplace_back();
      ended = !begins;
      if (begins)
        items_[number].span.begin = sections_.size() - 1;
      else
        items_[number].span.end = sections_.size();
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      items_[i].bytes = buffers_[i].bytes;
      for (size_t s = items_[i].span.begin; s < items_[i].span.end; ++s) {
        sections_[s].bytes += buffers_[i].bytes;
        items_[i].indices.push_back(static_cast<int32_t>(sections_[s].unplaced++));
        sections_[s].buffers.push_back(static_cast<int32_t>(i));
      }
    }
  }

  int64_t most_bytes(const Span& span) const {
    int64_t most = 0;
    for (size_t s = span.begin; s < span.end; ++s)
      if (sections_[s].unplaced > 0) most = std::max(most, sections_[s].bytes);
    return most;
  }

  /// Orders buffers by preference. Three rounds use lifetime, area and the peak of live bytes beside the
  /// buffer. Later rounds are randomised.
  void rank(int round) {
    const auto random = [&] { return double(random_() >> 11) * 0x1p-53; };
    const double spread = round < 3 ? 0 : 0.2 + 0.6 * random();
    std::vector<std::tuple<double, double, double>> keys;
    for (size_t i = 0; i < items_.size(); ++i) {
      const auto width = double(buffers_[i].end - buffers_[i].begin),
                 area = width * double(buffers_[i].bytes);
      const auto peak = double(most_bytes(items_[i].span));
      const double bases[] = {width, area, peak * peak * width, area * width};
      if (round == 0) keys.emplace_back(width, area, peak);
      if (round == 1) keys.emplace_back(peak, area, width);
      if (round == 2) keys.emplace_back(peak, width, area);
      if (round > 2) keys.emplace_back(bases[round % 4] * (1 - spread * random()), 0, 0);
    }
    std::vector<size_t> order(items_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] > keys[b]; });
    for (size_t k = 0; k < order.size(); ++k) items_[order[k]].rank = static_cast<int32_t>(k);
  }

  void change(int64_t& value, int64_t now) {
    changes_.push_back({&value, value});
    value = now;
  }

  void undo(const Mark& mark) {
    for (; changes_.size() > mark.changes; changes_.pop_back())
      *changes_.back().value = changes_.back().before;
    for (; placed_.size() > mark.placed; placed_.pop_back()) {
      Item& own = item(placed_.back());
      own.is_placed = false;
      for (size_t s = own.span.begin; s < own.span.end; ++s) ++sections_[s].unplaced;
    }
  }

  /// Moves a buffer behind the unplaced buffers of a section.
  void take_out(Item& own, size_t s) {
    Section& section = sections_[s];
    int32_t& index = own.indices[s - own.span.begin];
    const auto last = static_cast<int32_t>(--section.unplaced);
    Item& other = item(section.buffers[section.unplaced]);
    std::swap(section.buffers[static_cast<size_t>(index)], section.buffers[section.unplaced]);
    other.indices[s - other.span.begin] = index;
    index = last;
  }

  /// Places a buffer. False if a section then needs more than the capacity.
  bool place(int32_t number) {
    Item& own = item(number);
    const int64_t offset = own.lower, top = offset + own.bytes;
    offsets_[static_cast<size_t>(number)] = offset;
    own.is_placed = true;
    placed_.push_back(number);
    bool fits = true;
    for (size_t s = own.span.begin; s < own.span.end; ++s) {
      Section& section = sections_[s];
      take_out(own, s);
      change(section.bytes, section.bytes - own.bytes);
      if (top > section.floor) change(section.floor, top);
      fits = fits && (section.unplaced == 0 || section.floor + section.bytes <= capacity_);
    }
    if (!fits) return false;
    const std::vector<int32_t>& overlaps = overlaps_[static_cast<size_t>(number)];
    visits_ += std::ssize(overlaps);
    Span raised;
    for (const int32_t other_number : overlaps) {
      Item& other = item(other_number);
      if (other.is_placed || other.lower >= top) continue;
      if (top + other.bytes > capacity_) return false;
      change(other.lower, top);
      raised.include(other.span);
    }
    return raise_floors(raised, offset);
  }

  /// Raises the floor of sections to the lowest offset of their unplaced buffers, or to `least`. False if a
  /// section then needs more than the capacity.
  bool raise_floors(const Span& span, int64_t least) {
    for (size_t s = span.begin; s < span.end; ++s) {
      Section& section = sections_[s];
      if (section.unplaced == 0) continue;
      const int64_t known = std::max(section.floor, least);
      int64_t lowest = kNothing;
      for (size_t k = 0; k < section.unplaced && lowest > known; ++k, ++visits_)
        lowest = std::min(lowest, item(section.buffers[k]).lower);
      lowest = std::max(lowest, known);
      if (lowest == section.floor) continue;
      change(section.floor, lowest);
      if (lowest + section.bytes > capacity_) return false;
    }
    return true;
  }

  /// Splits buffers into parts that share no section; small parts first. The buffers must be sorted by first
  /// section.
  std::vector<std::vector<int32_t>> parts_of(std::vector<int32_t> buffers) {
    std::vector<size_t> begins;
    size_t end = 0;
    for (size_t k = 0; k < buffers.size(); ++k) {
      const Span& span = item(buffers[k]).span;
      if (span.begin >= end) begins.push_back(k);
      end = std::max(end, span.end);
    }
    std::vector<std::vector<int32_t>> parts;
    for (; begins.size() > 1; begins.pop_back()) {
      parts.emplace_back(buffers.begin() + static_cast<std::ptrdiff_t>(begins.back()), buffers.end());
      buffers.resize(begins.back());
    }
    if (!buffers.empty()) parts.push_back(std::move(buffers));
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    return parts;
  }

  /// Search state of one part: tries each candidate as the lowest buffer, then the parts of the remaining
  /// buffers.
  struct Frame {
    std::vector<int32_t> buffers, candidates;
    size_t next = 0;  ///< index of the next candidate to try
    Mark mark;        ///< state before the last candidate was placed
    Last last;        ///< that candidate
    std::vector<std::vector<int32_t>> parts;
    size_t part = 0;  ///< first part that is not placed yet
  };

  /// Depth-first search. An explicit stack replaces recursion, since the depth can equal the number of
  /// buffers.
  bool place_all(const std::vector<int32_t>& all) {
    std::vector<Frame> frames(1);
    frames[0].parts = parts_of(all);
    while (true) {
      Frame& top = frames.back();
      if (top.part == top.parts.size()) {
        frames.pop_back();
        if (frames.empty()) return true;
        ++frames.back().part;
        continue;
      }
      Frame next;
      next.buffers = std::move(top.parts[top.part]);
      if (find_candidates(next, top.parts.size() == 1 ? top.last : Last{}))
        frames.push_back(std::move(next));
      else
        undo(top.mark);
      while (!place_next(frames.back())) {
        frames.pop_back();
        if (frames.empty()) return false;
        undo(frames.back().mark);
      }
    }
  }

  /// False if the part cannot be placed or the search has used its budget.
  bool find_candidates(Frame& frame, const Last& last) {
    if (--nodes_left_ < 0 || visits_ > most_visits_) return false;
    visits_ += std::ssize(frame.buffers);
    int64_t least_top = kNothing;
    Span span;
    for (const int32_t number : frame.buffers) {
      least_top = std::min(least_top, item(number).lower + item(number).bytes);
      span.include(item(number).span);
    }
    if (least_top <= last.offset) return false;
    if (last.rank >= 0 && !raise_passed_over(frame.buffers, last)) return false;
    // The lowest buffer of the part must start below `least_top`. Otherwise another buffer would fit beneath
    // it.
    const int64_t highest = std::min(least_top - 1, capacity_ - most_bytes(span));
    for (const int32_t number : frame.buffers)
      if (item(number).lower <= highest && may_follow(item(number), last)) frame.candidates.push_back(number);
    std::sort(frame.candidates.begin(), frame.candidates.end(), [&](int32_t a, int32_t b) {
      return std::pair(item(a).lower, item(a).rank) < std::pair(item(b).lower, item(b).rank);
    });
    return true;
  }

  /// Places the next feasible candidate. False if there is none or the search has used its budget.
  bool place_next(Frame& frame) {
    while (frame.next < frame.candidates.size() && nodes_left_ >= 0 && visits_ <= most_visits_) {
      const int32_t number = frame.candidates[frame.next++];
      frame.mark = {changes_.size(), placed_.size()};
      if (!place(number)) {
        undo(frame.mark);
        continue;
      }
      std::vector<int32_t> rest;
      rest.reserve(frame.buffers.size());
      std::copy_if(frame.buffers.begin(), frame.buffers.end(), std::back_inserter(rest),
                   [&](int32_t other) { return other != number; });
      frame.last = {item(number).lower, item(number).rank};
      frame.parts = parts_of(std::move(rest));
      frame.part = 0;
      return true;
    }
    return false;
  }

  /// A skipped buffer must lie on top of a buffer that is still unplaced. So its lower bound rises to the
  /// lowest top of these. False if the buffer no longer fits.
  bool raise_passed_over(const std::vector<int32_t>& part, const Last& last) {
    Span raised;
    for (const int32_t number : part) {
      Item& own = item(number);
      if (may_follow(own, last)) continue;
      int64_t lowest = kNothing;
      for (const int32_t other_number : overlaps_[static_cast<size_t>(number)]) {
        const Item& other = item(other_number);
        if (!other.is_placed) lowest = std::min(lowest, std::max(other.lower, last.offset) + other.bytes);
      }
      visits_ += std::ssize(overlaps_[static_cast<size_t>(number)]);
      if (lowest > capacity_ - own.bytes) return false;
      change(own.lower, lowest);
      raised.include(own.span);
    }
    return raise_floors(raised, 0);
  }

  const std::span<const Buffer> buffers_;
  const Overlaps& overlaps_;
  const int64_t capacity_, most_visits_;
  std::vector<Section> sections_;
  std::vector<Item> items_;
  std::vector<int64_t> offsets_;
  std::vector<Change> changes_;
  std::vector<int32_t> placed_;
  std::mt19937_64 random_{1};
  int64_t nodes_left_ = 0, visits_ = 0;
};

}  // namespace

std::optional<std::vector<int64_t>> bounded_search(std::span<const Buffer> buffers, const Overlaps& overlaps,
                                                   int64_t capacity, int64_t most_visits) {
  if (buffers.empty()) return std::vector<int64_t>{};
  return BoundedSearch(buffers, overlaps, capacity, most_visits).run();
}

}  // namespace headroom
