#include "decoder/cpu/loops/processor.h"

#include <string>

#include "decoder/base/os/system_file.h"
#include "decoder/base/text_streams.h"

namespace headroom {

std::string processor_name() {
  TextReader in(text_of_system_file("/proc/cpuinfo").value_or(""));
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  }
  return "CPU";
}

}  // namespace headroom
