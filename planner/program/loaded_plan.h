#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/requests.h"

namespace headroom::planner {

/// Plans from a file, with their model: the one that the file names, or --model instead.
struct LoadedPlans {
  Model model;
  Plans plans;
};

/// If `model_argument` is empty, find_model() finds the model that the file names. Throws InputError with the
/// file and the key.
LoadedPlans load_plans(const std::string& file, const std::string& model_argument);

/// One plan of a file.
struct LoadedPlan {
  Model model;
  Plan plan;
  std::vector<RowTransfer> transfers{};  ///< between all ranks
};

/// The plan of --rank. If `rank` is unset, the file must have a single plan. Throws InputError like
/// load_plans(), and if the rank does not exist.
LoadedPlan load_plan(const std::string& file, const std::string& model_argument,
                     std::optional<size_t> rank = std::nullopt);

/// True if the file is a queue of requests (headroom.requests). Throws InputError if it is not JSON.
bool is_queue(const std::string& file);

/// Name of a queue's model for open_model(): `model_argument`, or the name in the queue if the argument is
/// empty. Throws InputError if neither names a model, ModelOfPlan if the model is not found.
std::string model_of_queue(const RequestQueue& queue, const std::string& file,
                           const std::string& model_argument);

/// A queue that headroom-plan queue wrote, and the model of all its plans. Also throws InputError if the
/// queue has no plans yet.
struct LoadedQueue {
  Model model;
  RequestQueue queue;
};
LoadedQueue load_queue(const std::string& file, const std::string& model_argument);

}  // namespace headroom::planner
