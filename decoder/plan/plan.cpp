#include "decoder/plan/plan.h"

namespace headroom {

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::gather:
      return "gather";
    case StepKind::norm:
      return "norm";
    case StepKind::upsample:
      return "upsample";
    case StepKind::conv:
      return "conv";
    case StepKind::add:
      return "add";
    case StepKind::attention:
      return "attention";
    case StepKind::statistics:
      return "statistics";
    case StepKind::store:
      return "store";
    case StepKind::accumulate:
      return "accumulate";
    case StepKind::emit:
      return "emit";
  }
  return "?";
}

const char* name_of(Place place) {
  switch (place) {
    case Place::device:
      return "device";
    case Place::host:
      return "host";
    case Place::scratch:
      return "scratch";
  }
  return "?";
}

const char* name_of(WeightResidency residency) {
  switch (residency) {
    case WeightResidency::resident:
      return "resident";
    case WeightResidency::per_pass:
      return "per_pass";
  }
  return "?";
}

}  // namespace headroom
