#include <iostream>

#include "decoder/progress/progress.h"
#include "profiler/program/run.h"

int main(int argc, char** argv) {
  headroom::ignore_closed_pipes();
  return headroom::profiler::run_profile({argv + 1, argv + argc}, std::cout, std::cerr);
}
