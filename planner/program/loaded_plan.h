#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/plan/requests.h"

namespace headroom::planner {

/// A plan from a file, with its model: the one that the file names, or --model instead.
struct LoadedPlan {
  Model model;
  Plan plan;
  std::vector<RowTransfer> transfers{};  ///< between all ranks; empty for a plan of one decode
};

/// If `model_argument` is empty, find_model() finds the model that the plan names. Throws InputError with the
/// file and the key.
LoadedPlan load_plan(const std::string& file, const std::string& model_argument);

/// A plan for ranks and its model, loaded like load_plan().
struct LoadedRanks {
  Model model;
  RankedPlan plan;
};
LoadedRanks load_ranks(const std::string& file, const std::string& model_argument);

/// The plan of a single rank. Also throws InputError if the rank does not exist.
LoadedPlan load_rank(const std::string& file, const std::string& model_argument, size_t rank);

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
