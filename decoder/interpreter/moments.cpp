#include "decoder/interpreter/moments.h"

namespace headroom {

Moments merged(const Moments& a, const Moments& b) {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const double count = a.count + b.count;
  const double difference = b.mean - a.mean;
  return {count, a.mean + difference * (b.count / count),
          a.m2 + b.m2 + difference * difference * (a.count * b.count / count)};
}

}  // namespace headroom
