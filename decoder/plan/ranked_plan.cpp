#include "decoder/plan/ranked_plan.h"
