#include <iostream>

#include "decoder/files/left_behind.h"
#include "decoder/program/run.h"
#include "decoder/progress/progress.h"

int main(int argc, char** argv) {
  headroom::remove_files_on_signals();
  headroom::ignore_closed_pipes();
  return headroom::run_decode({argv + 1, argv + argc}, std::cout, std::cerr);
}
