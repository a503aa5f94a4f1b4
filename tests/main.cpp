#include "tests/run_tests.h"

int main(int argc, char** argv) {
  return headroom::test::run_tests(argc, argv);
}
