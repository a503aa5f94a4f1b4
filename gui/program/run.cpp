#include "gui/program/run.h"

#include <QApplication>
#include <QDir>
#include <QFont>
#include <QIcon>
#include <QSettings>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/view/screenshots.h"

namespace headroom::gui {
namespace {

constexpr int kLargestSide = 16384;

/// Only a window that a user looks at needs a screen.
void choose_platform(bool needs_screen) {
  if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) return;
  if (!needs_screen) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    return;
  }
#ifdef Q_OS_LINUX
  // Without this check Qt aborts the process.
  if (qEnvironmentVariableIsEmpty("DISPLAY") && qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY"))
    throw DeviceError("no display: set DISPLAY or WAYLAND_DISPLAY, or write pictures with --screenshot DIR");
#endif
}

void apply(const GuiArguments& arguments, WindowSettings& settings) {
  if (!arguments.language.empty()) settings.language = QString::fromStdString(arguments.language);
}

QStringList files_of(const GuiArguments& arguments) {
  QStringList files;
  for (const std::string& file : arguments.files) files << QString::fromStdString(file);
  return files;
}

/// Drops Qt's warnings, for example about platforms without a screen. Our own errors are exceptions.
void drop_warnings(QtMsgType type, const QMessageLogContext&, const QString& text) {
  if (type == QtCriticalMsg || type == QtFatalMsg) std::cerr << text.toStdString() << "\n";
}

/// Qt aborts if no display answers. This handler prints one line and ends the process first.
void say_no_display(QtMsgType type, const QMessageLogContext&, const QString&) {
  if (type != QtFatalMsg) return;
  std::cerr << "headroom-gui: no display answers (DISPLAY='" << qEnvironmentVariable("DISPLAY").toStdString()
            << "', WAYLAND_DISPLAY='" << qEnvironmentVariable("WAYLAND_DISPLAY").toStdString()
            << "'): set one of them, or write pictures with --screenshot DIR\n";
  std::_Exit(kDeviceFailure);
}

/// Screenshots must be reproducible, so this function neither reads nor writes the user's settings, and plans
/// by costs learnt here only if the caller names their folder.
int take_screenshots(const GuiArguments& arguments) {
  if (!qEnvironmentVariableIsSet("HEADROOM_CACHE")) qputenv("HEADROOM_CACHE", "off");
  const QString folder = QString::fromStdString(arguments.screenshot_folder);
  if (!QDir().mkpath(folder))
    throw InputError("--screenshot: the folder " + arguments.screenshot_folder + " cannot be made");
  WindowSettings settings;
  settings.language = QStringLiteral("en");
  apply(arguments, settings);
  Workspace workspace;
  QString fault;
  QObject::connect(&workspace, &Workspace::failed, &workspace, [&](const QString& message) {
    if (fault.isEmpty()) fault = message;
  });
  MainWindow window(workspace, settings);
  if (arguments.width > 0) window.resize(arguments.width, arguments.height);
  window.show();
  workspace.open(files_of(arguments), QString::fromStdString(arguments.model));
  wait_until_idle(window);
  if (!fault.isEmpty()) throw InputError(fault.toStdString());
  write_screenshots(window, folder);
  return kDone;
}

int show_window(const GuiArguments& arguments) {
  QSettings stored;
  WindowSettings settings = read_settings(stored);
  apply(arguments, settings);
  Workspace workspace;
  MainWindow window(workspace, settings);
  if (arguments.width > 0) window.resize(arguments.width, arguments.height);
  QObject::connect(&window, &MainWindow::settingsChanged, &window,
                   [&] { write_settings(stored, window.settings()); });
  window.show();
  workspace.open(files_of(arguments), QString::fromStdString(arguments.model));
  return QApplication::exec();
}

}  // namespace

std::optional<GuiArguments> gui_arguments(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app(
      "See where a decode's memory goes: timelines of plans and runs, layers, scaling, the frontier of peak "
      "against time, and "
      "plans that follow a limit while you move it.\n\n"
      "Examples:\n"
      "  headroom-gui\n"
      "  headroom-gui plan.json stats.json trace.json\n"
      "  headroom-gui profile.json --screenshot pictures/ --size 1600x1000\n\n"
      "Exit codes: 0 done; 2 bad usage or, with --screenshot, bad input; 5 no display or a picture that "
      "cannot be written.",
      "headroom-gui");
  GuiArguments arguments;
  std::string size;
  app.add_option("FILE", arguments.files,
                 "plans, statistics, traces, profiles and frontiers to open; memory snapshots of PyTorch");
  app.add_option("--model", arguments.model,
                 "the model of the plans, if the model that they name is not found");
  app.add_option("--screenshot", arguments.screenshot_folder,
                 "write every page as a picture into this folder and end; needs no display");
  app.add_option("--language", arguments.language, "system, en or zh_CN; as last time by default")
      ->check(CLI::IsMember({"system", "en", "zh_CN"}));
  app.add_option("--size", size, "of the window in pixels: 1280x800");
  app.add_option("--scale", arguments.scale,
                 "screen or picture pixels for each pixel of --size: 2 on high-resolution screens; "
                 "as the desktop says by default")
      ->check(CLI::Range(0.5, 4.0));
  if (!parse_arguments(app, args, out)) return {};
  if (!size.empty()) {
    const auto [width, height] = parse_size(size, "--size");
    if (width > kLargestSide || height > kLargestSide)
      throw InputError("--size: expected at most 16384x16384, found " + size);
    arguments.width = static_cast<int>(width);
    arguments.height = static_cast<int>(height);
  }
  if (app.count("--screenshot") > 0 && arguments.screenshot_folder.empty())
    throw InputError("--screenshot: expected a folder");
  return arguments;
}

QIcon window_icon() {
  return QIcon::fromTheme(QStringLiteral("headroom"), QIcon(QStringLiteral(":/headroom.png")));
}

int run_gui(int argc, char** argv) {
  return guarded("headroom-gui", std::cout, std::cerr, [&] {
    const std::optional<GuiArguments> arguments = gui_arguments({argv + 1, argv + argc}, std::cout);
    if (!arguments) return static_cast<int>(kDone);
    choose_platform(arguments->screenshot_folder.empty());
    const bool pictures = !arguments->screenshot_folder.empty();
    qInstallMessageHandler(pictures ? drop_warnings : say_no_display);
    if (arguments->scale > 0) qputenv("QT_SCALE_FACTOR", QByteArray::number(arguments->scale));
    int count = 1;  // Qt gets only the program's name; the other arguments are ours
    QApplication application(count, argv);
    if (!pictures) qInstallMessageHandler(nullptr);
    QApplication::setOrganizationName(QStringLiteral("headroom"));
    QApplication::setApplicationName(QStringLiteral("headroom-gui"));
    QApplication::setApplicationVersion(QStringLiteral(HEADROOM_VERSION));
    QApplication::setDesktopFileName(QStringLiteral("headroom"));
    QApplication::setWindowIcon(window_icon());
    return pictures ? take_screenshots(*arguments) : show_window(*arguments);
  });
}

}  // namespace headroom::gui
