#include "decoder/cli/run_program.h"
#include "reports/bench/place_buffers.h"

int main(int argc, char** argv) {
  return headroom::run_program(argc, argv, headroom::reports::place_buffer_file);
}
