#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace headroom::test {

/// Exit code and output of a program.
struct Ended {
  int code = -1;
  std::string out, err;
};

using Words = std::vector<std::string>;

/// Runs a program's main function in this process.
template <typename Run>
Ended call(Run run, const Words& words) {
  std::ostringstream out, err;
  Ended ended;
  ended.code = run(words, out, err);
  ended.out = out.str();
  ended.err = err.str();
  return ended;
}

/// Runs a built program. `err` receives standard output and standard error together.
inline Ended spawn(std::string line, const Words& words) {
  for (const std::string& word : words) line += " '" + word + "'";
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ended ended;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.err.append(buffer, got);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// Requires that the program failed with this code and printed one line with all `parts` to standard error.
inline void require_refused(const Ended& ended, int code, const std::vector<std::string>& parts) {
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == code);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 1);
  CHECK(ended.err.ends_with("\n"));
  CHECK(ended.out.empty());
  for (const std::string& part : parts) CHECK_THAT(ended.err, Catch::Contains(part));
}

inline Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace headroom::test
