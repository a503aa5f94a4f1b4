#include "decoder/schedule/lifetimes.h"

#include <numeric>

namespace headroom {

std::vector<size_t> last_uses(const Pass& pass) {
  std::vector<size_t> last(pass.steps.size());
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    for (const Operand& operand : pass.steps[i].inputs) {
      if (operand.step >= 0) last[static_cast<size_t>(operand.step)] = i;
    }
  }
  return last;
}

std::vector<Lifetime> tile_lifetimes(const Pass& pass) {
  const std::vector<size_t> last = last_uses(pass);
  std::vector<Lifetime> lifetimes(pass.steps.size());
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    if (makes_tile(pass.steps[i]))
      lifetimes[i] = {i + (takes_over(pass, pass.steps[i]) ? 1 : 0), last[i] + 1};
  }
  return lifetimes;
}

}  // namespace headroom
