#include "tests/run_tests.h"

#include <cstdlib>

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

namespace headroom::test {

int run_tests(int argc, char** argv, const std::function<bool()>& prepare) {
  setenv("HEADROOM_CACHE", "off", 1);  // no test reads or writes the user's measured ratios
  Catch::Session session;
  if (const int wrong = session.applyCommandLine(argc, argv)) return wrong;
  const Catch::ConfigData& asked = session.configData();
  const bool lists = asked.listTests || asked.listTestNamesOnly || asked.listTags || asked.listReporters;
  if (!lists && prepare && !prepare()) return 0;
  return session.run();
}

}  // namespace headroom::test
