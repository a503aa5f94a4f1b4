#pragma once

#include <QIcon>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace headroom::gui {

/// Options from the command line of headroom-gui.
struct GuiArguments {
  std::vector<std::string> files;
  std::string model;              ///< model of all plans; empty: the model that each plan names
  std::string screenshot_folder;  ///< empty: open a window
  std::string language;           ///< empty: the language of the last start
  double scale = 0;               ///< screen pixels per window pixel; 0: the desktop's scale
  int width = 0;                  ///< 0: the usual width
  int height = 0;
};

/// Parses the arguments after the program's name. Returns nothing if it answered --help or --version on
/// `out`. Throws InputError.
std::optional<GuiArguments> gui_arguments(const std::vector<std::string>& args, std::ostream& out);

/// The desktop's icon of the program, or else the program's own.
QIcon window_icon();

/// The program headroom-gui. Returns the exit code (decoder/cli/run_guard.h).
int run_gui(int argc, char** argv);

}  // namespace headroom::gui
