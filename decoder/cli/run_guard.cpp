#include "decoder/cli/run_guard.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <ios>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/standard_streams.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

/// First line of a library's error message. Libraries append stack traces.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

constexpr int kNotUtf8 = 316;  ///< error number of the JSON library

/// Extracts the byte, such as "0xFF", from the end of the JSON library's message.
std::string byte_of(const std::string& message) {
  const size_t at = message.rfind("0x");
  return at == std::string::npos ? "other bytes" : message.substr(at);
}

}  // namespace

int guarded(const char* program, std::ostream& out, std::ostream& err, const std::function<int()>& body) {
  const auto report = [&](ExitCode code, const std::string& message) -> int {
    try {
      const std::string line = one_line(message);
      err << program << ": " << line << std::endl;
      return static_cast<int>(code);
    } catch (const std::bad_alloc&) {
      err << program << ": out of memory" << std::endl;
      return static_cast<int>(kDeviceFailure);
    }
  };
  const auto internal_error = [&](const std::exception& error) {
    return report(kDeviceFailure, "internal error: " + first_line(error.what()));
  };
  try {
    const int code = body();
    out.flush();
    if (code != kDone || out) return code;
    if (reader_is_gone()) return kDeviceFailure;
    throw DeviceError("standard output: cannot be written, the results are lost");
  } catch (const InputError& error) {
    return report(kBadInput, error.what());
  } catch (const DoesNotFit& error) {
    return report(kDoesNotFit, error.what());
  } catch (const LimitExceeded& error) {
    return report(kLimitExceeded, std::string("stopped at the limit: ") + error.what());
  } catch (const DeviceError& error) {
    return report(kDeviceFailure, error.what());
  } catch (const std::bad_alloc&) {
    return report(kDeviceFailure, "out of memory");
  } catch (const nlohmann::json::type_error& error) {
    if (error.id != kNotUtf8) return internal_error(error);
    return report(kBadInput, std::string("a name cannot be written as JSON: expected UTF-8, found ") +
                                 byte_of(error.what()) + " (such as the folder of --model)");
  } catch (const std::filesystem::filesystem_error& error) {
    return report(is_system_failure(error.code().value()) ? kDeviceFailure : kBadInput,
                  error.path1().string() + ": " + error.code().message());
  } catch (const std::ios_base::failure& error) {
    return report(kDeviceFailure, "a file cannot be read: " + first_line(error.what()));
  } catch (const std::exception& error) {
    return internal_error(error);
  }
}

}  // namespace headroom
