#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "decoder/exchange/agreement.h"
#include "decoder/graph/errors.h"
#include "decoder/plan/ranked_plan_file.h"
#include "decoder/validator/ranked_validator.h"
#include "planner/python/bindings.h"
#include "planner/python/planned_decode.h"
#include "planner/python/python_exchange.h"

namespace headroom::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

PlannedDecode plan_of_rank(std::shared_ptr<Model> model, const std::string& text, int32_t rank) {
  constexpr const char* kOrigin = "rank 0's plan";
  const nlohmann::json document = parse_json(text, kOrigin);
  RankedPlan plan = ranked_plan_from_json(JsonFields(document, kOrigin), model->graph);
  if (rank < 0 || rank >= static_cast<int32_t>(plan.plans.size()))
    throw InputError(std::string(kOrigin) + ": expected a plan for rank " + std::to_string(rank) +
                     " as well");
  require_valid(plan, *model, kOrigin);
  const Plan own = plan.plans[static_cast<size_t>(rank)];
  return {std::move(model), own, std::make_shared<const RankedPlan>(std::move(plan))};
}

}  // namespace

void bind_ranks(nb::module_& module) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  module.def("plan_of_rank", &plan_of_rank, "model"_a, "text"_a, "rank"_a, Release(),
             "One rank's Plan of the JSON that a plan for several ranks gives. Raises InputError.");
  module.def(
      "agree",
      [](nb::object ranks, const std::vector<std::tuple<std::string, std::string, std::string>>& things) {
        PythonExchange exchange(std::move(ranks));
        std::vector<Agreed> agreed;
        for (const auto& [what, value, shown] : things) agreed.push_back({what, value, shown});
        const nb::gil_scoped_release no_gil;
        agree(exchange, agreed);
      },
      "ranks"_a, "things"_a,
      "Raises ExchangeError on all ranks where one has another (what, value, shown) than rank 0, or another "
      "version of Headroom.");
}

}  // namespace headroom::python
