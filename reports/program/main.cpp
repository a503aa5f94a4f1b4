#include <iostream>

#include "reports/program/run.h"

int main(int argc, char** argv) {
  return headroom::reports::run_report({argv + 1, argv + argc}, std::cout, std::cerr);
}
