#include <iostream>

#include "profiler/program/run.h"

int main(int argc, char** argv) {
  return headroom::run_profile({argv + 1, argv + argc}, std::cout, std::cerr);
}
