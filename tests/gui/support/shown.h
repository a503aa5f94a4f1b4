#pragma once

#include "gui/view/main_window.h"
#include "tests/gui/sample_files.h"

namespace headroom::test {

/// A page that is shown, over a workspace of its own.
template <typename PageType>
struct ShownPage {
  explicit ShownPage(const QStringList& files = {}) {
    page.resize(1200, 800);
    page.show();
    if (!files.isEmpty()) open(files);
  }
  void open(const QStringList& files) {
    workspace.open(files);
    rest();
  }
  void rest() {
    wait_until([&] { return !page.busy() && !workspace.busy(); });
    handle_events();
  }
  template <typename Widget>
  Widget& child(const char* name = nullptr) {
    auto* found = page.template findChild<Widget*>(name == nullptr ? QString() : QString(name));
    REQUIRE(found != nullptr);
    return *found;
  }

  gui::Workspace workspace;
  PageType page{workspace};
};

inline gui::WindowSettings settings_in(const QString& language) {
  gui::WindowSettings settings;
  settings.language = language;
  return settings;
}

/// A window that is shown, with settings of its own.
struct ShownWindow {
  explicit ShownWindow(const QString& language = "en") : window(workspace, settings_in(language)) {
    window.resize(1280, 800);
    window.show();
  }

  gui::Workspace workspace;
  gui::MainWindow window;
};

}  // namespace headroom::test
