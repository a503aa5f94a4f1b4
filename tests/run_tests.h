#pragma once

#include <functional>

namespace headroom::test {

/// Catch2's runner, whose code takes half a minute to compile and is compiled once for all tests. `prepare`
/// is called before tests run, and not where they are listed; where it returns false, none runs. Returns the
/// exit status.
int run_tests(int argc, char** argv, const std::function<bool()>& prepare = {});

}  // namespace headroom::test
