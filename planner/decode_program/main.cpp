#include "planner/decode_program/run.h"

#include "decoder/cli/run_program.h"

int main(int argc, char** argv) {
  return headroom::run_program(argc, argv, headroom::run_decode);
}
