#include "reports/figures/same_decode.h"

#include <filesystem>

#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

/// Compares the last part of paths, because one folder may be named from different places.
bool same_model(const std::string& a, const std::string& b) {
  const auto last = [](const std::string& name) {
    const std::filesystem::path path(name);
    return path.has_filename() ? path.filename() : path.parent_path().filename();
  };
  return a == b || last(a) == last(b);
}

bool same_passes(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].empty() && !b[i].empty() && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

DecodeIdentity identity_of(const PlanDocument& document) {
  DecodeIdentity decode{document.plan.request, document.plan.limit_bytes, {}};
  for (const Pass& pass : document.plan.passes) decode.passes.push_back(pass.name);
  return decode;
}

DecodeIdentity identity_of(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  DecodeIdentity decode{trace.request, trace.limit_bytes, recorded.pass_names};
  decode.request.model = trace.model;
  return decode;
}

bool of_one_decode(const DecodeIdentity& a, const DecodeIdentity& b) {
  if (!same_model(a.request.model, b.request.model) || a.limit_bytes != b.limit_bytes ||
      !same_passes(a.passes, b.passes))
    return false;
  Request request = a.request;
  request.model = b.request.model;
  return request == b.request;
}

std::string text_of(const DecodeIdentity& decode) {
  const Request& request = decode.request;
  std::string text = request.model + " " + std::to_string(request.width_pixels) + "x" +
                     std::to_string(request.height_pixels) + " " + arithmetic_of(request);
  text += on_text(request.device);
  if (request.frames > 1) text += ", " + counted(request.frames, "frame", "frames");
  if (request.batch > 1) text += ", batch " + std::to_string(request.batch);
  text += is_limit(decode.limit_bytes) ? ", limit " + format(Unit::bytes, double(decode.limit_bytes))
                                       : ", no limit";
  return text + ", " + counted(static_cast<int64_t>(decode.passes.size()), "pass", "passes");
}

}  // namespace headroom::reports
