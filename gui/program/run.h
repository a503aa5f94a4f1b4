#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace headroom::gui {

/// Options from the command line of headroom-gui.
struct GuiArguments {
  std::vector<std::string> files;
  std::string model;              ///< of the plans; empty: the one that each names
  std::string screenshot_folder;  ///< empty: a window
  std::string language;           ///< empty: as the window remembers it
  double scale = 0;               ///< pixels of the screen to one of the window; 0: as the desktop says
  int width = 0;                  ///< 0: the same
  int height = 0;
};

/// Arguments without the program's name. Nothing where --help or --version was answered on `out`. Throws
/// InputError.
std::optional<GuiArguments> gui_arguments(const std::vector<std::string>& args, std::ostream& out);

/// The program headroom-gui. Returns the exit code (decoder/cli/run_guard.h).
int run_gui(int argc, char** argv);

}  // namespace headroom::gui
