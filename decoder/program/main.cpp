#include <iostream>

#include "decoder/program/run.h"

int main(int argc, char** argv) {
  return headroom::run_decode({argv + 1, argv + argc}, std::cout, std::cerr);
}
