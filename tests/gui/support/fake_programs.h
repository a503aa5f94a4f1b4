#pragma once

#include <QCoreApplication>
#include <filesystem>
#include <string>

#include "decoder/base/progress/progress_lines.h"
#include "tests/decoder/files/scratch.h"
#include "tests/gui/support/events.h"

namespace headroom::test {}
namespace headroom::gui::test {
using namespace headroom::test;

/// HEADROOM_BIN as it was when the tests began, or where the build puts its programs.
inline QString built_programs() {
  static const QString folder = qEnvironmentVariable("HEADROOM_BIN", QStringLiteral(HEADROOM_BIN));
  return folder;
}

/// A folder with programs of the test's own, which HEADROOM_BIN names while it lives.
class FakePrograms {
 public:
  FakePrograms() {
    built_programs();
    qputenv("HEADROOM_BIN", scratch.folder().c_str());
  }
  ~FakePrograms() { qputenv("HEADROOM_BIN", built_programs().toUtf8()); }

  /// A shell script.
  QString add(const std::string& name, const std::string& body) const {
    const std::filesystem::path file = scratch.write(name, "#!/bin/sh\n" + body + "\n");
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return QString::fromStdString(file.string());
  }

  headroom::test::Scratch scratch;
};

/// A line of a script that tells this.
inline std::string tells(double seconds, const ProgressNews& news) {
  std::string line = progress_line({seconds, news});
  line.pop_back();
  return "echo '" + line + "' >&2\n";
}

}  // namespace headroom::gui::test
