#include <string>

#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"
#include "decoder/cpu/loops/loops.h"

namespace headroom::kernels {

std::vector<NamedLoops> loops_that_run() {
  std::vector<NamedLoops> list{{"baseline", &baseline_loops}};
#if defined(__x86_64__)
  // Instruction sets that the compiler may use at -march=x86-64-v3 and -v4.
  const bool haswell = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#if defined(__clang__)  // Clang lacks the other names; processors with those features have these too
  const bool avx2 = haswell;
#else
  const bool avx2 = haswell && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                    __builtin_cpu_supports("movbe");
#endif
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx2) list.push_back({"avx2", &avx2_loops});
  if (avx512) list.push_back({"avx512", &avx512_loops});
#endif
  return list;
}

namespace {

const Loops*& chosen_loops() {
  static const Loops* chosen = fastest_loops().loops;
  return chosen;
}

}  // namespace

const NamedLoops& fastest_loops() {
  static const NamedLoops chosen = loops_that_run().back();
  return chosen;
}

const Loops& loops() {
  return *chosen_loops();
}

void use_loops(const NamedLoops& loops) {
  chosen_loops() = loops.loops;
}

}  // namespace headroom::kernels

namespace headroom {

std::string processor_name() {
  // Read once: each decode asks, and the file has a section for each processor.
  static const std::string name = [] {
    TextReader in(text_of_system_file("/proc/cpuinfo").value_or(""));
    std::string line;
    while (std::getline(in, line)) {
      if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
        return line.substr(line.find(": ") + 2);
    }
    return std::string("CPU");
  }();
  return name;
}

}  // namespace headroom
