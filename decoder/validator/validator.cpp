#include "decoder/validator/validator.h"

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/plan/plan_file.h"
#include "decoder/validator/group.h"
#include "decoder/validator/other_model.h"

namespace headroom {

const char* name_of(Violation::Kind kind) {
  switch (kind) {
    case Violation::malformed:
      return "malformed";
    case Violation::read_before_write:
      return "read before its write";
    case Violation::read_after_release:
      return "read after its release";
    case Violation::missing_halo:
      return "tile without its halo";
    case Violation::skipped_region:
      return "skipped region";
    case Violation::computed_twice:
      return "region computed twice";
    case Violation::statistics_twice:
      return "statistics counted twice";
    case Violation::statistics_missing:
      return "statistics missing";
    case Violation::block_conflict:
      return "block in two owners";
    case Violation::misplaced:
      return "not on the device";
    case Violation::never_released:
      return "blocks never released";
    case Violation::wrong_output:
      return "wrong output";
    case Violation::peak_above_limit:
      return "peak above the limit";
    case Violation::peak_understated:
      return "peak understated";
    case Violation::not_owned:
      return "rows of another rank";
    case Violation::missing_transfer:
      return "missing transfer";
    case Violation::ranks_differ:
      return "ranks differ";
    case Violation::deadlock:
      return "ranks wait for one another";
    case Violation::traffic_misstated:
      return "traffic misstated";
  }
  return "?";
}

void validation::check_plan(View& view) {
  if (!check_outline(view)) return;
  check_steps(view);
  check_flow(view);
  // Lifetimes of blocks are only defined if reads and writes are in order.
  if (view.findings.empty()) check_memory(view);
}

std::vector<Violation> validate(const Plan& plan, const Graph& graph, const Extent& latent) {
  validation::View view(plan, graph, latent);
  validation::check_plan(view);
  return view.findings.take();
}

namespace {

/// Calls validate_at() with the extent of the request.
template <typename Validate>
std::vector<Violation> at_extent(const Request& request, const Model& model, const Validate& validate_at) {
  Extent latent;
  try {
    latent = latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  } catch (const InputError& error) {
    return {{Violation::malformed, "request", error.what()}};
  }
  return validate_at(latent);
}

}  // namespace

std::vector<Violation> validate(const Plan& plan, const Model& model) {
  return at_extent(plan.request, model,
                   [&](const Extent& latent) { return validate(plan, model.graph, latent); });
}

std::vector<Violation> validate(const Plans& plans, const Model& model) {
  if (!plans.for_ranks()) return validate(plans.plans.front(), model);
  return at_extent(plans.request, model,
                   [&](const Extent& latent) { return validation::check_group(plans, model.graph, latent); });
}

void require_none(const std::vector<Violation>& violations, const std::string& planned, const Model& model,
                  const std::string& origin) {
  if (violations.empty()) return;
  const Violation& first = violations.front();
  const std::string found = first.place + ": " + name_of(first.kind) + ": " + first.what;
  if (!names_other_model(planned, model)) throw InputError(origin + ": " + found);
  throw ModelOfPlan(origin + ": the plan is for the model \"" + printable(planned) + "\", not for \"" +
                        printable(argument_of(model)) + "\" (" + found + ")",
                    planned);
}

void require_valid(const Plan& plan, const Model& model, const std::string& origin) {
  require_none(validate(plan, model), plan.request.model, model, origin);
}

void require_valid(const Plans& plans, const Model& model, const std::string& origin) {
  require_none(validate(plans, model), plans.request.model, model, origin);
}

}  // namespace headroom
