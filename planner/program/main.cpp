#include <iostream>

#include "planner/program/run.h"

int main(int argc, char** argv) {
  return headroom::planner::run_plan({argv + 1, argv + argc}, std::cout, std::cerr);
}
