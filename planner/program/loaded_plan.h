#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/plan/requests.h"

namespace headroom::planner {

/// The plan in a file and the model that it names, or that --model gives in its place.
struct LoadedPlan {
  Model model;
  Plan plan;
};

/// An empty `model_argument` stands for the model that find_model() finds for the plan. Throws InputError
/// naming the file and the key.
LoadedPlan load_plan(const std::string& file, const std::string& model_argument);

/// A plan for ranks and its model, as for load_plan().
struct LoadedRanks {
  Model model;
  RankedPlan plan;
};
LoadedRanks load_ranks(const std::string& file, const std::string& model_argument);

/// The plan of one of these ranks. Throws InputError too where there is no such rank.
LoadedPlan load_rank(const std::string& file, const std::string& model_argument, size_t rank);

/// True if the file is a queue of requests (headroom.requests). Throws InputError if it is not JSON.
bool is_queue(const std::string& file);

/// The model of a queue as open_model() takes it: `model_argument`, or where that is empty the one that the
/// queue names. Throws InputError where it names none, ModelOfPlan where that is not found.
std::string model_of_queue(const RequestQueue& queue, const std::string& file,
                           const std::string& model_argument);

/// The queue in a file, as headroom-plan queue writes it, and the model of all its plans. Throws InputError
/// too where nothing is planned yet.
struct LoadedQueue {
  Model model;
  RequestQueue queue;
};
LoadedQueue load_queue(const std::string& file, const std::string& model_argument);

}  // namespace headroom::planner
