#include "decoder/exchange/silence.h"

#include <algorithm>

#include "decoder/base/text.h"

namespace headroom {

std::string state_text(const RankState& state) {
  TextWriter text;
  text << state.beat << ' ' << state.work << ' ' << state.waits_for << ' ' << state.left;
  return text.str();
}

RankState state_of(const std::string& text) {
  TextReader in(text);
  RankState state;
  if (in >> state.beat >> state.work >> state.waits_for >> state.left) return state;
  return {};
}

Silence::Silence(int32_t self, int32_t peer, double now, double timeout)
    : self_(self), peer_(peer), begin_(now), timeout_(timeout) {}

std::optional<std::string> Silence::verdict(const std::vector<RankState>& states, double now) {
  if (heard_.empty()) {
    for (const RankState& state : states) heard_.push_back({state, begin_, begin_});
  }
  for (size_t i = 0; i < states.size(); ++i) {
    Heard& last = heard_[i];
    if (states[i].beat != last.state.beat) last.beat_at = now;
    // Starting or ending a wait counts as work too.
    if (states[i].work != last.state.work || states[i].waits_for != last.state.waits_for) last.work_at = now;
    last.state = states[i];
  }
  // Follow the chain of live waiting ranks to the one that all of them wait for.
  double last_work = begin_;
  int32_t rank = peer_;
  for (size_t steps = 0; steps <= heard_.size(); ++steps) {
    const Heard& last = heard_.at(static_cast<size_t>(rank));
    if (now - last.beat_at > timeout_) return blame(rank, "life");
    last_work = std::max(last_work, last.work_at);
    const int32_t next = last.state.waits_for;
    if (next < 0 || next == self_ || next >= static_cast<int64_t>(heard_.size())) break;
    rank = next;
  }
  if (now - last_work <= timeout_) return std::nullopt;
  // In a cycle, all ranks stand still. Blame the direct peer.
  const bool in_circle = heard_[static_cast<size_t>(rank)].state.waits_for >= 0;
  const int32_t blamed = in_circle ? peer_ : rank;
  // A process that ends may have worked shortly before its last beat. If the beat is old, wait until it is
  // clear whether it lives.
  if (now - heard_[static_cast<size_t>(blamed)].beat_at > timeout_ / 2) return std::nullopt;
  return blame(blamed, "work");
}

std::string Silence::blame(int32_t rank, const char* of_what) const {
  TextWriter line;
  line << "rank " << rank << " has shown no sign of " << of_what << " for " << timeout_ << " s";
  return line.str();
}

}  // namespace headroom
